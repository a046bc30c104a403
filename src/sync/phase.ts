/**
 * | phase      | the client                                           | next                              |
 * | ---------- | ---------------------------------------------------- | --------------------------------- |
 * | connecting | has not opened its socket                            | `opened`: working, muted          |
 * | working    | applies a message, or has not said `ready`           | `ready`: waiting                  |
 * | waiting    | said `ready`: the next message is due when it exists | changes or notices sent: working  |
 * | muted      | may not listen any more, and is told so every minute | stays so, because a client that   |
 * |            |                                                      | is closed connects again at once  |
 * | closed     | is gone                                              |                                   |
 *
 * From connecting, working and waiting `mute` leads to muted, and `closed` from everywhere to closed.
 */
export type Phase = 'connecting' | 'working' | 'waiting' | 'muted' | 'closed'
