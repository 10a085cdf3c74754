#!/usr/bin/env bash
# Builds the image with buildah and runs it as its users do: not root, root file system read-only, volumes new.
#   scripts/try_container.sh [--local]     (as scripts/build_image.sh takes it)
# Needs root, since it mounts and changes root by itself: buildah's own `run` cannot make the file system read-only.
set -euo pipefail
cd "$(dirname "$0")/.."
export BUILDAH_ISOLATION=chroot
work="$(mktemp -d)"
port=39871
server=
container=
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ -z "$container" ] || buildah rm "$container" >/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

bash scripts/build_image.sh "$@"
container="$(buildah from localhost/portcullis-try)"
root="$(buildah mount "$container")"
cp -a "$root/var/lib/portcullis" "$work/volumes" # a new volume gets what the image has there
mkdir -p "$root/proc"

# Each step replaces the one before it, so the process that a shell starts with this is the program itself.
in_container=(unshare --mount /bin/bash -c '
    set -e
    mount --bind "$1" "$1"
    mount -o remount,ro,bind "$1"
    mount --bind "$2/data" "$1/var/lib/portcullis/data"
    mount --bind "$2/workspace" "$1/var/lib/portcullis/workspace"
    mount --rbind /proc "$1/proc"
    root="$1" port="$3"
    shift 3
    exec env -i HOST=127.0.0.1 PORT="$port" SERVER_URL="http://localhost:$port" NO_COLOR=1 \
      DATA_DIR=/var/lib/portcullis/data WORKSPACE_DIR=/var/lib/portcullis/workspace \
      "$(command -v chroot)" --userspec=65532:65532 "$root" /usr/local/bin/portcullis "$@"
  ' - "$root" "$work/volumes" "$port")

"${in_container[@]}" --version
"${in_container[@]}" serve >"$work/stdout" 2>"$work/stderr" &
server=$!
for _ in $(seq 100); do
  grep -q '^portcullis listening' "$work/stdout" && break
  kill -0 "$server" 2>/dev/null || { cat "$work/stderr" >&2; exit 1; }
  sleep 0.1
done
"${in_container[@]}" healthcheck
token="$("${in_container[@]}" token create --scope 'files:read files:write' 2>/dev/null)"
answer="$(curl --silent --show-error --fail "http://127.0.0.1:$port/mcp" -H "Authorization: Bearer $token" \
  -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"file_write",
  "arguments":{"filename":"hello.txt","content":"Hello"}}}')"
grep -q '"isError":false' <<<"$answer" || { echo "$answer" >&2; exit 1; }
[ "$(stat --format=%u "$work/volumes/workspace/hello.txt")" = 65532 ]
# A document is read in a thread of its own, out of the program's modules.
cat >"$work/volumes/workspace/page.pdf" <<'PDF'
%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R
  /Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>> endobj
4 0 obj <</Length 47>> stream
BT /F1 12 Tf 20 100 Td (Read in a thread) Tj ET
endstream endobj
trailer <</Root 1 0 R>>
PDF
answer="$(curl --silent --show-error --fail "http://127.0.0.1:$port/mcp" -H "Authorization: Bearer $token" \
  -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"file_read",
  "arguments":{"filename":"page.pdf"}}}')"
grep -q 'Read in a thread' <<<"$answer" || { echo "$answer" >&2; exit 1; }
for command in "token list" "users list" "clients list" "keys list" "connect claude-code"; do
  # shellcheck disable=SC2086
  "${in_container[@]}" $command >/dev/null || { echo "$command fails" >&2; exit 1; }
done
"${in_container[@]}" hash-password <<<"correct horse battery staple" | grep -q '^\$'
if "${in_container[@]}" doctor | grep '^FAIL'; then exit 1; fi
"${in_container[@]}" backup /var/lib/portcullis/data/backups/first 2>/dev/null
kill -TERM "$server"
wait "$server"
server=
restored=/var/lib/portcullis/data/restored
"${in_container[@]}" restore /var/lib/portcullis/data/backups/first --data-dir "$restored" 2>/dev/null
"${in_container[@]}" token list --data-dir "$restored" | grep -q files:write
"${in_container[@]}" token list | grep -q files:write
if "${in_container[@]}" healthcheck 2>/dev/null; then echo "healthcheck passes without a server" >&2; exit 1; fi
echo "the container serves as user 65532 on a read-only root, is well, writes to its volumes alone, backs up, restores, and stops"
