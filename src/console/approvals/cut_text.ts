/** A text within a bound that says what it leaves out: an approval of a cut text must not look like one of all of it. */
export function cutMiddle(text: string, maxCharacters: number): string {
  const whole = text.toWellFormed();
  if (whole.length <= maxCharacters) return whole;
  const half = Math.floor(maxCharacters / 2);
  const left = whole.length - 2 * half;
  return `${whole.slice(0, half)}\n[${left} characters are not shown here]\n${whole.slice(-half)}`.toWellFormed();
}
