#!/usr/bin/env bash
# Runs a command where ARM's programs run, by emulation: scripts/emulate_arm.sh COMMAND...
# On Debian, x86_64, with libc6-arm64-cross, libgcc-s1-arm64-cross and QEMU_AARCH64: a qemu-aarch64 that knows openat2
# (10.0 does, 7.2 does not). It all ends with the command: the kernel keeps the emulator for this user namespace alone.
#
#   npm pack @deno/linux-arm64-glibc                     # unpack it: ARM/deno
#   export QEMU_AARCH64=/usr/bin/qemu-aarch64 DENO_DIR=$(mktemp -d) PROPERTY_RUNS=300 KILL_ROUNDS=30
#   scripts/emulate_arm.sh ARM/deno test --config deno.dev.json --allow-all --no-check tests/kernel tests/workspace
#   scripts/emulate_arm.sh deno task end-to-end binary --core --program PROGRAM
#
# PROGRAM is one of a release, or a script that starts the bundle with Deno for ARM. All is some five times slower. What
# injects faults by strace, asks the machine's own compiler or gives files to other users fails there.
set -euo pipefail
if [ "${1:-}" != --inside ]; then
  exec unshare --user --map-root-user --mount "$0" --inside "$@"
fi
shift
cross=/usr/aarch64-linux-gnu/lib
mount -t tmpfs tmpfs /mnt
mkdir /mnt/aarch64-linux-gnu
cp "$cross/ld-linux-aarch64.so.1" /mnt
mount -t overlay overlay -o lowerdir=/mnt:/usr/lib /usr/lib
mount --bind "$cross" /usr/lib/aarch64-linux-gnu
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
# An ELF program of 64 bits for EM_AARCH64; F opens the emulator now, C gives it the program's rights.
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
printf '%s' ":aarch64:M::$magic:$mask:${QEMU_AARCH64:-$(command -v qemu-aarch64)}:OCF" >/proc/sys/fs/binfmt_misc/register
exec "$@"
