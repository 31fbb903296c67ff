import { flipDigits } from "../readiness/drills/webhook-case.ts";
import { MAX_ORDER_ID_LENGTH } from "../checkout/create-request.ts";

type SimilarIds = readonly [a: string, b: string, c: string, d?: string];

/** Order_ids that resemble the subject's in one way, for shops that confuse such order_ids. */
const SIMILAR_IDS = {
  other_case: (id) => {
    const letterId = /[A-Za-z]/.test(id) ? id : `a${id}`;
    return [shortenId(letterId), shortenId(switchCase(letterId)), shortenId(`0${letterId}`)];
  },
  longer: (id) => [shortenId(id, 2), `${shortenId(id, 2)}0`, `${shortenId(id, 2)}00`],
  shorter: (id) => [`${shortenId(id, 2)}0`, shortenId(id, 2), `${shortenId(id, 2)}1`],
  numbered: (id) => [shortenId(id), `${shortenId(id)}2`, `${shortenId(id)}1`],
  last_character: (id) => [
    id,
    changeCharacter(id, LAST_OF_NUMBER, 1),
    changeCharacter(id, LAST_OF_NUMBER, 2),
  ],
  same_end: (id) => [id, changeCharacter(id, DIGIT_BEFORE_END, 1), changeCharacter(id, DIGIT_BEFORE_END, 2)],
  digits: (id) => [
    id,
    swapDigits(id),
    changeCharacter(id, LAST_OF_NUMBER, 1),
    changeCharacter(id, LAST_DIGIT, 3),
  ],
  look_alike: (id) => [shortenId(id), addAccent(shortenId(id)), shortenId(id).replace(/(?=\d)|$/, "0")],
  same_number: (id) => {
    const number = shortenId(id.replaceAll(/\D|^0+/g, "") || "1", 2);
    return [number, `0${number}`, `00${number}`];
  },
  pattern: (id) => {
    const head = shortenId(id).slice(0, -1);
    return [`${head}_`, `${head}x`, `${head}y`];
  },
  marks: (id) => {
    const head = shortenId(`${id}00`, 4);
    return [`${head}-01`, `${head}_01`, `${head}-0_1`];
  },
  same_head: (id) => {
    const head = `${id}${"0".repeat(MAX_ORDER_ID_LENGTH)}`.slice(0, MAX_ORDER_ID_LENGTH - 3);
    return [`${head}101`, `${head}102`, `${head}103`];
  },
} satisfies Readonly<Record<string, (id: string) => SimilarIds>>;
export type NeighbourKind = keyof typeof SIMILAR_IDS;

export function neighbourIds(id: string, kind: NeighbourKind): SimilarIds {
  return SIMILAR_IDS[kind](id);
}

export type SamePart = "head" | "end";

/** Another event_id with the same end, or with the same head, which a shop may read as the same, rounded number. */
export function eventIdLike(id: string, samePart: SamePart): string {
  const index = samePart === "head" ? id.length - 4 : 4;
  return id.slice(0, index) + flipDigits(id.slice(index, index + 4)) + id.slice(index + 4);
}

function shortenId(id: string, freeLength = 1): string {
  return Array.from(id)
    .slice(0, MAX_ORDER_ID_LENGTH - freeLength)
    .join("");
}

/** The id with an accent, or with a full-width digit if it has no vowel: equal in some collations. */
function addAccent(id: string): string {
  return /[aeiou]/i.test(id)
    ? id.replace(/[aeiou]/i, (letter) => `${letter}\u0301`.normalize("NFC"))
    : id.replace(/\d|$/, (digit) => String.fromCharCode(0xff10 + Number(digit)));
}

function switchCase(id: string): string {
  return id.replace(/[A-Za-z]/, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

const DIGIT_BEFORE_END = /[1-9](?=.{4})/;

function swapDigits(id: string): string {
  const swappedId = id.replace(/([1-9])(?!\1)([1-9])(?=.{4})/, "$2$1");
  return swappedId === id ? changeCharacter(id, DIGIT_BEFORE_END, 2) : swappedId;
}

const LAST_DIGIT = /\d(?=\D*$)/;
/** The last character of the last part with a digit: `7` of INV-17-EUR, `f` of 1002f. */
const LAST_OF_NUMBER = /(?:\d|(?<=\d[A-Za-z\d]*)[A-Za-z])(?=(?:[^A-Za-z\d]\D*)?$)/;

/** An id without a matching character gets a digit at its end. */
function changeCharacter(id: string, pattern: RegExp, increment: number): string {
  return pattern.test(id)
    ? id.replace(pattern, (character) => {
        const row = CHARACTER_ROWS.find((characters) => characters.includes(character)) ?? "123456789";
        return row[(row.indexOf(character) + increment) % row.length] ?? character;
      })
    : `${shortenId(id)}${increment}`;
}

/** A changed character stays in its row, so that a hexadecimal number stays hexadecimal. */
const CHARACTER_ROWS = ["123456789", "abcdef", "ABCDEF", "ghijklmnopqrstuvwxyz", "GHIJKLMNOPQRSTUVWXYZ"];

export type AmountDirection = "less" | "more";

const MAX_DIFFERENCE_MINOR = 10;
const DIFFERENCE_SHARE = 1 / 200;

export function nearAmount(amountMinor: number, direction: AmountDirection): number {
  const difference = Math.max(1, Math.min(MAX_DIFFERENCE_MINOR, Math.floor(amountMinor * DIFFERENCE_SHARE)));
  return direction === "less" && amountMinor > difference
    ? amountMinor - difference
    : amountMinor + difference;
}
