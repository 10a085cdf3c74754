/**
 * Recognises passphrases that attackers try first (NIST SP 800-63B §3.1.1.2). Published lists hold few of our length, so
 * what they are made of is listed instead: common words with digits around them, repetitions, keyboard and number runs.
 */
const commonWords = new Set(
  ("abc access account admin administrator alpha angel apple april august autumn baby bailey baseball basketball batman " +
    "beta blue boy buster change changeit changeme charlie cheese chocolate claude computer cookie daniel december default " +
    "demo dragon easy enter family february flower football freedom friday friend fuck fuckyou ginger girl god google guest " +
    "hannah hello hockey home hunter i iloveyou in internet january jennifer jessica jesus jordan july june justin killer lady let " +
    "letmein life login london love lovely lover maggie magic march master matrix matthew mcp me michael michelle mickey " +
    "money monday monkey mustang mypassword network nicole november october one ollama operator orange owner pass passcode " +
    "passphrase passwort password pepper please portcullis princess purple pussy qazwsx qwerty root secret secure september " +
    "server service servicenow shadow silver soccer spring star starwars summer sunday sunshine super superman support sweet " +
    "sysadmin system temp test tester testing thomas three tigger trustno1 trustno two user welcome whatever william winter " +
    "word world yankees you zaq").split(" "),
);
const famousPhrases = new Set([
  "iloveyousomuch",
  "nevergonnagiveyouup",
  "opensesame",
  "thequickbrownfox",
  "thisismypassword",
  "tobeornottobe",
]);
const runs = [
  "abcdefghijklmnopqrstuvwxyz",
  "qwertyuiopasdfghjklzxcvbnm",
  "qwertzuiopasdfghjklyxcvbnm",
  "azertyuiopqsdfghjklmwxcvbn",
  "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik",
  "1q2w3e4r5t6y7u8i9o0p",
  "0123456789",
  "1234567890",
].flatMap((run) => [run, [...run].reverse().join("")]).map((run) => run.repeat(3));
const lookalikes: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "@": "a",
  "$": "s",
  "!": "i",
};
const minDistinctCharacters = 5;
/** Longer passphrases are judged by their beginning, which bounds the work. */
const maxJudgedCharacters = 128;

/** Whether a passphrase is a common one. */
export function isCommonPassphrase(passphrase: string): boolean {
  const text = passphrase.slice(0, maxJudgedCharacters).normalize("NFKC").toLowerCase();
  if (new Set(text).size < minDistinctCharacters || isRepetition(text)) return true;
  const compact = text.replace(/[^\p{L}\p{N}]/gu, "");
  const isMostlyCompact = compact.length * 2 > text.length;
  if (isMostlyCompact && (runs.some((run) => run.includes(compact)) || isRepetition(compact))) return true;
  // Digits and signs around and between the words count for nothing; lookalikes of letters count as these.
  return [text, text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, "").replace(/[013457@$!]/g, (sign) => lookalikes[sign] ?? "")]
    .map((spelling) => spelling.replace(/[^\p{L}]/gu, ""))
    .some((letters) => letters !== "" && (famousPhrases.has(letters) || consistsOfCommonWords(letters)));
}

/** One piece twice or more, the last time perhaps in part: `passwordpassword`, `abcabcab`. */
function isRepetition(text: string): boolean {
  for (let length = 1; length <= text.length / 2; length++) {
    if (text.slice(length) === text.slice(0, text.length - length)) return true;
  }
  return false;
}

function consistsOfCommonWords(letters: string): boolean {
  const reachable = new Set([0]);
  for (let end = 1; end <= letters.length; end++) {
    for (const start of reachable) {
      const piece = letters.slice(start, end);
      if (commonWords.has(piece) || (piece.length >= 3 && runs.some((run) => run.includes(piece)))) {
        reachable.add(end);
        break;
      }
    }
  }
  return reachable.has(letters.length);
}
