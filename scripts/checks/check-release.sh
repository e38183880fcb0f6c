#!/usr/bin/env bash
# Builds the archive of the last commit twice, in two clones with Cargo homes of their own, and compares the bytes; then unpacks it,
# looks for what its pages name, and measures the demo.
#
#     scripts/checks/check-release.sh [TARGET]        (this machine's target)
#
# Takes two complete builds. The crates are fetched twice too, unless the variable CARGO_HOMES says otherwise: two folders with a colon
# between them.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${1:-$(rustc -vV | sed -n 's/^host: //p')}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The commit of this moment: another may be made while its first archive is built.
commit=$(git rev-parse HEAD)
IFS=: read -r first second <<< "${CARGO_HOMES:-$work/cargo:$work/elsewhere/cargo}"
for clone in "one:$first" "deeper/down/two:$second"; do
    folder=$work/${clone%%:*}
    git clone --quiet . "$folder"
    git -C "$folder" checkout --quiet "$commit"
    (cd "$folder" && CARGO_HOME=${clone#*:} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} scripts/release/release.sh "$target")
    cp "$folder"/target/dist/*.tar.gz "$work/$(basename "$folder").tar.gz"
    rm -rf "$folder/target"
done
cmp "$work/one.tar.gz" "$work/two.tar.gz"
echo "two builds of ${commit:0:7} give the same bytes: $(sha256sum < "$work/one.tar.gz" | cut -c1-16)..."

# What the archive's pages link to lies in it.
mkdir "$work/unpacked"
tar xzf "$work/one.tar.gz" -C "$work/unpacked"
cd "$work"/unpacked/scope-*/
grep -oh ']([^)]*)' ./*.md | sed 's/^](//; s/[)#].*//' | sort -u | while read -r link; do
    case $link in *://*) ;; *) [ -e "$link" ] || { echo "error: a page of the archive links to $link, which is not in it" >&2; exit 1; } ;; esac
done

cd "$work"
started=$(date +%s.%N)
tar xzf one.tar.gz
cd scope-*/
if ./scope --version > /dev/null 2>&1; then
    ./scope demo > /dev/null
    echo "from the archive to the demo's picture: $(echo "$(date +%s.%N) - $started" | bc) s"
fi
