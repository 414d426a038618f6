#!/bin/sh
# Makes corpus/ from what runs left in work/ and from seeds/: see README.md.
set -eu
cd "$(dirname "$0")"
triple=$(rustc -vV | sed -n 's/^host: //p')
for target in capture packet tcp http chunk coding json lines binary raw whole; do
    case $target in
    capture | packet | raw | whole) longest=1500 most=12000 ;;
    *) longest=400 most=6000 ;;
    esac
    merged=$(mktemp -d)
    mkdir -p work/$target seeds/$target
    "target/$triple/release/$target" -set_cover_merge=1 -max_len=$longest "$merged" work/$target seeds/$target 2>/dev/null
    rm -rf corpus/$target
    mkdir -p corpus/$target
    total=0
    for name in $(ls -Sr "$merged"); do
        size=$(wc -c <"$merged/$name")
        total=$((total + size))
        [ "$size" -le $longest ] && [ "$total" -le $most ] || continue
        cp "$merged/$name" "corpus/$target/$(printf %.12s "$name")"
    done
    rm -rf "$merged"
done
