import type { Satchel } from './satchel'

/** How many users the figures are for. */
export const crowd = 100_000

/** A user of a company of 10,000 that came at once, and of a team that a tenth of each company is in. */
export function person(index: number): object {
  const given = givenNames[index % givenNames.length] ?? ''
  const family = familyNames[Math.floor(index / 20) % familyNames.length] ?? ''
  const mark = (Math.imul(index + 1, 0x9e3779b1) >>> 0).toString(36)
  const company = Math.floor((index * 10) / crowd)
  const email = `u-${mark}@team${index % 10}.company${company}.example`
  return {
    userId: index % 3 === 0 ? `auth0|${mark}` : email,
    type: index % 97 === 0 ? 'demo' : index % 3 === 1 ? 'eval' : 'prod',
    ...(index % 3 === 1 ? { evalDaysLeft: index % 31 } : {}),
    ...(index % 4 === 0 ? { validUntil: new Date(farAway + (index % 5000)).toISOString() } : {}),
    deactivated: index % 50 === 0,
    data: { displayName: `${given} ${family}`, email, seat: index },
  }
}

/** The figures tell what is found for each, all of it beginning with the least. */
export const searches = {
  /** At most a tenth of all match. */
  narrow: [
    'company0',
    'company9',
    'team3',
    'zz',
    'q7',
    '~',
    'Öberg',
    'straßer',
    'İpek Ş',
    'josé garcia',
    'u-1a',
    'nobody at all',
    '%',
  ],
  /** The remaining ones, up to all. */
  wide: ['a', 'e', 'ö', '1', 'q', '@', 'an', 'om', '12', 'example', 'company', 'team', 'auth0|'],
}

/** Stores them, as many at a time as a request may hold. */
export async function postPeople(satchel: Satchel): Promise<void> {
  const size = 10_000
  for (let begin = 0; begin < crowd; begin += size) {
    const people = Array.from({ length: size }, (_, index) => person(begin + index))
    await satchel.send('POST', '/users', JSON.stringify(people))
  }
}

const farAway = Date.UTC(2035, 0, 1)

const givenNames = [
  'Åsa José Bjørn Zoë Alice Bob Carla Dmitri Eve François',
  'Günther Hana İpek Jürgen Karl Łukasz Mária Nils Olga Paulo',
].flatMap((names) => names.split(' '))

const familyNames = [
  "Öberg Smith Müller Garcia Nguyen O'Neil Ivanov Sørensen Straßer Kim",
  'Tanaka Dubois Novák Rossi Andersson Yılmaz Kowalski Silva Jensen Şahin',
].flatMap((names) => names.split(' '))
