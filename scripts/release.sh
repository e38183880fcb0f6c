#!/usr/bin/env bash
# Packs a release archive of the program: the binary with the demo's model inside, the five models, completions, licences, and a
# checksum beside it.
#
#     scripts/release.sh [TARGET] [FOLDER]        (this machine's target, target/dist)
#
# The archive's own bytes depend on its contents and on the commit's time alone. Another target needs its Rust library (rustup target
# add TARGET) and a linker, which Cargo is told by CARGO_TARGET_..._LINKER; completions come from a program that this machine can run.
set -euo pipefail
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
target=${1:-$host}
out=${2:-target/dist}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
name=scope-$version-$target
if [ -n "$(git status --porcelain)" ]; then
    echo "error: the checkout has changes that are not committed: commit them first, so that the archive is that of a commit" >&2
    exit 1
fi

cargo build --release --locked -p scope-cli
program=target/release/scope
if [ "$target" != "$host" ]; then
    cargo build --release --locked -p scope-cli --target "$target"
    program=target/$target/release/scope
fi

mkdir -p "$out"
staging=$(mktemp -d "$out/.release-XXXXXX")
trap 'rm -rf "$staging"' EXIT
folder=$staging/$name
mkdir -p "$folder/models" "$folder/completions"
install -m 755 "$program" "$folder/scope"
install -m 644 README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$folder"
install -m 644 models/*.safetensors models/*.toml "$folder/models"
for shell in bash zsh fish; do
    target/release/scope completions "$shell" > "$folder/completions/scope.$shell"
done

tar --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+w --mtime="@$(git log -1 --format=%ct)" --format=gnu \
    -C "$staging" -cf - "$name" | gzip -n -9 > "$staging/$name.tar.gz"
mv "$staging/$name.tar.gz" "$out/"
(cd "$out" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256" && cat "$name.tar.gz.sha256")
