#!/usr/bin/env bash
# Packs release archives of the program, one for each target: the binary with the demo's model inside, the five models, a page of its
# own, the manual, completions, licences, and a checksum beside it.
#
#     scripts/release/release.sh [TARGET ...]        (this machine's target; into target/dist)
#     scripts/release/release.sh x86_64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-gnu
#
# Another target needs its Rust library (rustup target add TARGET) and a linker: on Debian, gcc-aarch64-linux-gnu and musl-tools. The
# manual and completions come from the program itself, or from this machine's where it does not run here; an emulator that Cargo
# knows (CARGO_TARGET_..._RUNNER) spares that second build.
# Two builds of one commit with one linker give the same bytes, wherever the checkout and Cargo's home are: scripts/checks/check-release.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."

host=$(rustc -vV | sed -n 's/^host: //p')
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
out=target/dist
if [ -n "$(git status --porcelain)" ]; then
    echo "error: the checkout has changes that are not committed: commit them first, so that the archive is that of a commit" >&2
    exit 1
fi
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=${CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER:-aarch64-linux-gnu-gcc}

# Builds the program of a target, without the names of this machine's folders inside, and says where it is. The flags ask for
# stripping once more, because Cargo forgets it for a package with settings of its own.
build() {
    local cargo_home=${CARGO_HOME:-$HOME/.cargo} flags
    flags=$(printf '%s\x1f' "--remap-path-prefix=$PWD=/scope" "--remap-path-prefix=$cargo_home=/cargo" "-Cstrip=symbols")
    CARGO_ENCODED_RUSTFLAGS=${flags%$'\x1f'} \
        cargo build --release --locked -p scope-cli --target "$1" --target-dir target/release-archives >&2
    echo "target/release-archives/$1/release/scope"
}

# The words that run a target's program here: through its emulator, if Cargo knows one.
running() {
    local runner
    runner=CARGO_TARGET_$(tr a-z- A-Z_ <<< "$1")_RUNNER
    echo "${!runner:-} $2"
}

# The changes, without links to pages that the archive has not.
changes() {
    sed -z 's/\[\([^]]*\)\](\(docs\|crates\)[^)]*)/\1/g' CHANGELOG.md
}

# Packs what was built for a target; the manual and completions come from a program that this machine can run.
pack() {
    local target=$1 program=$2 speaking=$3 name=scope-$version-$1 staging folder
    mkdir -p "$out"
    staging=$(mktemp -d "$out/.release-XXXXXX")
    folder=$staging/$name
    mkdir -p "$folder/models" "$folder/completions" "$folder/man"
    install -m 755 "$program" "$folder/scope"
    install -m 644 scripts/release/archive-readme.md "$folder/README.md"
    changes > "$folder/CHANGELOG.md"
    install -m 644 LICENSE-MIT LICENSE-APACHE "$folder"
    install -m 644 models/*.safetensors models/*.toml "$folder/models"
    for shell in bash zsh fish; do
        $speaking completions "$shell" > "$folder/completions/scope.$shell"
    done
    $speaking man --out "$folder/man/man1" > /dev/null
    tar --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+w --mtime="@$SOURCE_DATE_EPOCH" --format=gnu \
        -C "$staging" -cf - "$name" | gzip -n -9 > "$staging/$name.tar.gz"
    mv "$staging/$name.tar.gz" "$out/"
    rm -rf "$staging"
    (cd "$out" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256" && cat "$name.tar.gz.sha256")
}

[ $# -gt 0 ] || set -- "$host"
speaking=
for target in "$@"; do
    program=$(build "$target")
    if $(running "$target" "$program") --version > /dev/null 2>&1; then speaking=$(running "$target" "$program"); fi
    [ -n "$speaking" ] || speaking=$(build "$host")
    pack "$target" "$program" "$speaking"
done
