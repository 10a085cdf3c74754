/** Numbers of lists and headings. */

const romanValues = {
  m: 1000,
  cm: 900,
  d: 500,
  cd: 400,
  c: 100,
  xc: 90,
  l: 50,
  xl: 40,
  x: 10,
  ix: 9,
  v: 5,
  iv: 4,
  i: 1,
};
const romans = Object.entries(romanValues);
const maxRoman = 4_000;

/** A number as its list writes it, by how the list writes 1: "1", "a", "A", "i" or "I". */
export function formatNumber(number: number, one = "1"): string {
  const low = one.toLowerCase();
  let left = number;
  const text = low === "a" && number > 0
    ? String.fromCharCode(97 + (number - 1) % 26).repeat(Math.min(Math.ceil(number / 26), 10))
    : low === "i" && number < maxRoman
    ? romans.map(([letters, value]) => {
      const times = Math.floor(left / value);
      left -= times * value;
      return letters.repeat(times);
    }).join("")
    : String(number);
  return one === low ? text : text.toUpperCase();
}
