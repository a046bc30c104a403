/** Limits against guessing codes and flooding mailboxes (promise 21). Always in force. */
export interface OtpLimits {
  /** How long a code is good for, ms. */
  readonly life: number
  /** How often one code may be tried. */
  readonly tries: number
  /** How many codes one address is sent in an hour. */
  readonly perAddress: number
  /** How many codes one network may ask for in an hour, and how many wrong ones it may try. */
  readonly perNetwork: number
}

/** With 40 bits a code, one address can be tried 1,200 times a day: a guess in a billion. */
export const OTP_LIMITS: OtpLimits = {
  life: 10 * 60 * 1000,
  tries: 5,
  perAddress: 10,
  perNetwork: 300,
}
