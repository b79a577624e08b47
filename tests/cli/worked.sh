# worked PROCESS: waits until prevail has used 0.6 seconds of processor time, however busy the machine is, or has ended.
# Sourced; starts no background process, so that $! is unchanged.
worked() {
    local from= ticks # a command substitution leaves $! as it is
    while ticks=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" { print $12 + $13 }') && [ -n "$ticks" ]; do
        if [[ $(readlink "/proc/$1/exe") == */prevail* ]]; then
            : "${from:=$ticks}"
            [ $((ticks - from)) -lt 60 ] || return 0 # hundredths of a second
        fi
        sleep 0.02
    done
}
