#!/usr/bin/env bash
# The README's two commands as a person has them who has Node alone: an ordinary user with an empty home, without Deno,
# git, a browser, a database, a compiler or any program but a shell, the core utilities, Node and npm, on a machine whose
# cores are busy. The first command runs on port 3000 while the second one runs in the same clone.
#
#   scripts/gate/bare_machine.sh              # the second command as it is: the whole gate
#   scripts/gate/bare_machine.sh FILE...      # with these test files
#   scripts/gate/bare_machine.sh --short      # with those that start programs, examine the port or talk over pipes
#
# The place is a directory with a mount namespace of its own. Where it cannot be made, the script says SKIPPED. It ends
# with a line: bare machine | N passed | N failed | N ignored
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

# Says that it was left out, and why. The run that called goes on.
skip() {
  echo "SKIPPED the README's commands on a bare machine: $1"
  echo "bare machine | 0 passed | 0 failed | 1 ignored"
  exit 0
}

if [ "${1:-}" != --inside ]; then
  [ "$(uname -s)" = Linux ] || skip "it is about Linux"
  for program in unshare chroot ldd node npm tar; do
    command -v "$program" >/dev/null || skip "there is no $program to make it with"
  done
  place="$(mktemp -d "${TMPDIR:-/tmp}/bare_machine.XXXXXX")"
  trap 'rm -rf "$place"' EXIT
  # Its processes end with it, since they have process ids of their own.
  spaces=(unshare --mount --pid --fork --kill-child)
  [ "$(id -u)" = 0 ] || spaces+=(--user --map-root-user)
  "${spaces[@]}" sh -c 'mkdir -p "$0/proc" && mount -t proc proc "$0/proc"' "$place" 2>/dev/null ||
    skip "this machine lets its user make no namespace with mounts"
  IDS_OUTSIDE="$(id -u)" "${spaces[@]}" bash "$0" --inside "$place" "$@" && status=0 || status=$?
  exit "$status"
fi

# Strace, unshare and mounts, compilers, shells, git, curl, openssl, tar, unzip, perl, PostgreSQL, Chromium, doctor, stdio.
short=(
  tests/optional_programs_test.ts tests/commit_subjects_test.ts
  tests/kernel/{descriptor,layout}_test.ts tests/sandbox/confinement_test.ts
  tests/config/overlap_test.ts tests/workspace/{folding_contract,ignore_rules}_test.ts
  tests/end_to_end/{mounted_workspace,full_disk,standard_streams,stdio,tls,doctor,doctor_servicenow}_test.ts
  tests/cli/{read_passphrase,start_problems,doctor_database,printed_commands,connect}_test.ts tests/stdio/serve_stdio_test.ts
  tests/storage/{postgres,postgres_tls}_test.ts tests/fleet/fleet_test.ts tests/transfer/curl_test.ts
  tests/browser/{console,upload_page}_test.ts tests/ship/{installed_bundle,release,gate}_test.ts
)

place="$2"
shift 2
if [ "${1:-}" = --short ]; then
  shift
  set -- "$@" "${short[@]}"
fi
deno="$(sed -nE 's/^(npx -y deno@[0-9.]+) task start .*/\1/p' README.md)"
[ -n "$deno" ] || { echo "README.md names no command for Node alone" >&2; exit 1; }

# What is there: a shell, the core utilities, Node and npm, with their libraries.
utilities=(sh env awk basename cat chgrp chmod chown cmp comm cp cut date dd df diff dirname du echo expand expr false find
  fold grep head id join kill link ln ls mkdir mkfifo mknod mktemp mv nice nl nohup nproc od paste printf pwd readlink
  realpath rm rmdir sed seq sleep sort split stat stty sync tail tee test timeout touch tr true truncate tty uname uniq
  unlink wc xargs yes)
mkdir -p "$place"/{usr/bin,opt/node/bin,opt/node/lib/node_modules,etc,dev,proc,tmp,home/person/portcullis}
for name in bin sbin lib lib64; do ln -s "usr/$name" "$place/$name"; mkdir -p "$place/usr/$name"; done
node="$(node -p process.execPath)"
npm="$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")"
cp "$node" "$place/opt/node/bin/node"
cp -R "$npm" "$place/opt/node/lib/node_modules/npm"
ln -s /opt/node/bin/node "$place/usr/bin/node"
for name in npm npx; do ln -s "/opt/node/lib/node_modules/npm/bin/$name-cli.js" "$place/usr/bin/$name"; done
for name in "${utilities[@]}"; do
  program="$(type -P "$name" || true)"
  [ -z "$program" ] || cp -L "$program" "$place/usr/bin/$name"
done
for file in "$place"/usr/bin/* "$node"; do ldd "$file" 2>/dev/null || true; done |
  sed -nE 's/^[^/]*(\/[^ ]+) \(0x.*/\1/p' | sort -u | while read -r library; do
  mkdir -p "$place$(dirname "$library")"
  cp -nL "$library" "$place$library"
  case "$library" in # the C library is one of several files, which Deno needs too
    */libc.so.6) for part in dl m pthread rt util; do cp -nL "${library%/*}/lib$part.so."* "$place${library%/*}/" 2>/dev/null || true; done ;;
  esac
done
printf 'root:x:0:0::/root:/bin/sh\nperson:x:1000:1000::/home/person:/bin/sh\n' >"$place/etc/passwd"
printf 'root:x:0:\nperson:x:1000:\n' >"$place/etc/group"
for name in resolv.conf hosts nsswitch.conf ssl pki ca-certificates; do
  [ ! -e "/etc/$name" ] || cp -RL "/etc/$name" "$place/etc/" 2>/dev/null || true
done
tar --exclude=./.git --exclude=./dist --exclude=./node_modules -cf - . | tar -C "$place/home/person/portcullis" -xf -
chmod 755 "$place"
chmod 1777 "$place/tmp"
mount --rbind /dev "$place/dev"
mount -t proc proc "$place/proc"

# Who works there: a user of a namespace becomes another one in a further namespace only.
if [ "$IDS_OUTSIDE" = 0 ]; then
  chown -R 1000:1000 "$place/home/person"
  enter=("$(type -P chroot)" --userspec=1000:1000 --groups= "$place")
else
  enter=("$(type -P unshare)" --user --map-user=1000 --map-group=1000 --root="$place")
fi
# Of the environment there is only what this machine's network needs, and how many processes run at once.
network=("npm_config_registry=$(npm config get registry)")
while IFS= read -r line; do network+=("$line"); done < <(env |
  grep -iE '^(https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|SSL_CERT_DIR|DENO_CERT|DENO_TLS_CA_STORE|DENO_JOBS)=')
as_person() {
  env -i "${network[@]}" HOME=/home/person PATH=/usr/bin NO_COLOR=1 "${enter[@]}" /bin/sh -c 'cd && cd portcullis && exec "$@"' sh "$@"
}

began=$SECONDS
passed=0 failed=0 ignored=0
for _ in $(seq "$(nproc)"); do nice -n 19 sh -c 'while :; do :; done' & done

# The first command. Its port is the README's: where another program has it, the second command runs beside that one.
said="$place/first"
if (exec 3<>/dev/tcp/127.0.0.1/3000) 2>/dev/null; then
  echo "SKIPPED the README's first command: another program listens on port 3000"
  ignored=$((ignored + 1)) first=0
else
  as_person $deno task start >"$said" 2>&1 </dev/null &
  first=$!
  until grep -q '^portcullis listening on http://127.0.0.1:3000' "$said" || ! kill -0 "$first" 2>/dev/null; do sleep 1; done
  sed 's/^/  /' "$said"
  if grep -q '^error: cannot listen on 127.0.0.1 port 3000' "$said"; then
    echo "SKIPPED the README's first command: another program took port 3000 meanwhile"
    ignored=$((ignored + 1)) first=0
  fi
fi

# The second one.
as_person $deno task ok "$@" </dev/null 2>&1 | tee "$place/second" || true
summary="$(grep -E '^(ok|FAILED) \| [0-9]+ passed' "$place/second" | tail -n 1 || true)"
count() { sed -nE "s/.*[| ]([0-9]+) $1.*/\1/p" <<<"$summary"; }
passed=$((passed + $(count passed) + 0)) ignored=$((ignored + $(count ignored) + 0))
case "$summary" in
  ok*) ;;
  "") failed=$((failed + 1)); echo "FAILED: the second command ended without its last line" ;;
  *) failed=$((failed + $(count failed))) ;;
esac
left="$(ls -A "$place/tmp")"
if [ -n "$left" ]; then
  failed=$((failed + 1))
  echo "FAILED: left in the temporary directory: "$left
fi
if [ "$first" != 0 ]; then
  if (exec 3<>/dev/tcp/127.0.0.1/3000) 2>/dev/null; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: the README's first command does not serve, or not to the end"
  fi
fi
echo "bare machine | $passed passed | $failed failed | $ignored ignored ($(((SECONDS - began) / 60)) min)"
[ "$failed" = 0 ]
