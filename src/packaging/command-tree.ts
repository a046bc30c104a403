import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings'
import { wholeProgram } from '../cli/reference'

/** A command with the commands below it, as its help shows them. */
export interface DescribedCommand {
  /** As it is written: `satchel user add`. */
  readonly name: string
  /** The last word of the name. */
  readonly word: string
  /** `[options] <address>` */
  readonly usage: string
  readonly description: string
  readonly options: readonly DescribedOption[]
  readonly commands: readonly DescribedCommand[]
}

export interface DescribedOption {
  /** `-p, --port <number>` */
  readonly flags: string
  /** `-p` and `--port` */
  readonly names: readonly string[]
  /** The placeholder of its value, such as `file`; absent for a switch. */
  readonly value?: string
  readonly description: string
}

/** The whole program, from the data of `--help`. */
export function commandTree(): DescribedCommand {
  return describe(wholeProgram(), 'satchel')
}

/** A command and all below it. */
export function allCommands(command: DescribedCommand): DescribedCommand[] {
  return [command, ...command.commands.flatMap(allCommands)]
}

function describe(command: CommandUnknownOpts, name: string): DescribedCommand {
  const help = command.createHelp()
  const commands = help.visibleCommands(command).filter((below) => below.name() !== 'help')
  return {
    name,
    word: command.name(),
    usage: command.usage(),
    description: command.description(),
    options: help.visibleOptions(command).map(describeOption),
    commands: commands.map((below) => describe(below, `${name} ${below.name()}`)),
  }
}

function describeOption({ flags, short, long, description }: Option): DescribedOption {
  const value = /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1]
  return {
    flags,
    names: [short, long].filter((name) => name !== undefined),
    ...(value === undefined ? {} : { value }),
    description,
  }
}
