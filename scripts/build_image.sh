#!/usr/bin/env bash
# Builds the image localhost/portcullis-try with buildah.
#   scripts/build_image.sh           with the images that the Dockerfile names
#   scripts/build_image.sh --local   with stand-ins made of Debian's packages and this machine's Deno, for machines
#                                    that reach no image registry (needs mmdebstrap; COMPILE_DENO and DENORT_BIN, if
#                                    set, come along). They stay for the next run; `buildah rmi` removes them.
#                                    PORTCULLIS_IMAGE=local says the same to all that builds the image.
# Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
export BUILDAH_ISOLATION=chroot
[ "${PORTCULLIS_IMAGE:-}" != local ] || set -- --local
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# An image of what is below a directory or in a tar file.
image_of() { # NAME SOURCE [buildah config flags]
  local name="$1" source="$2" from
  shift 2
  from="$(buildah from scratch)"
  buildah add --quiet "$from" "$source" / >/dev/null
  [ $# = 0 ] || buildah config "$@" "$from"
  buildah commit --quiet "$from" "$name" >/dev/null
  buildah rm "$from" >/dev/null
}

images=()
if [ "${1:-}" = --local ]; then
  images=(--build-arg BUILD_IMAGE=localhost/portcullis-build --build-arg RUNTIME_IMAGE=localhost/portcullis-runtime)
fi
if [ "${1:-}" = --local ] && ! buildah images --quiet localhost/portcullis-build >/dev/null 2>&1; then
  mmdebstrap --quiet --variant=extract --include=base-files,libc6,libgcc-s1,ca-certificates bookworm "$work/runtime.tar"
  image_of localhost/portcullis-runtime "$work/runtime.tar"
  mmdebstrap --quiet --variant=essential --include=ca-certificates bookworm "$work/build"
  cp "$(readlink -f "$(command -v deno)")" "$work/build/usr/local/bin/deno"
  # Once here, so that everything it downloads is in the image: the packages, and Deno's own bundler.
  DENO_DIR="$work/build/deno-dir" deno run --allow-all scripts/bundle.ts "$work/bundle"
  settings=(--env DENO_DIR=/deno-dir)
  if [ -n "${DENORT_BIN:-}" ]; then
    cp "$DENORT_BIN" "$work/build/opt/denort"
    cp "$COMPILE_DENO" "$work/build/opt/deno"
    settings+=(--env DENORT_BIN=/opt/denort --env COMPILE_DENO=/opt/deno)
  fi
  image_of localhost/portcullis-build "$work/build" "${settings[@]}"
  rm -rf "$work/build"
fi

# The packages of a newer lock file are added to the stand-in, where no registry can be reached from within a build.
lock="$(sha256sum deno.lock | cut -c1-16)"
label='{{index .OCIv1.Config.Labels "lock"}}'
if [ "${1:-}" = --local ] && [ "$(buildah inspect --type image --format "$label" localhost/portcullis-build)" != "$lock" ]; then
  from="$(buildah from localhost/portcullis-build)"
  DENO_DIR="$(buildah mount "$from")/deno-dir" deno run --allow-all scripts/bundle.ts "$work/bundle-again"
  buildah config --label "lock=$lock" "$from"
  buildah commit --quiet "$from" localhost/portcullis-build >/dev/null
  buildah rm "$from" >/dev/null
fi

buildah build --quiet --format docker "${images[@]}" --build-arg COMMIT="$(git rev-parse HEAD)" --tag portcullis-try . >/dev/null
