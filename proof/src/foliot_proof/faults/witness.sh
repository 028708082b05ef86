# A shell job that is a family: the shell starts a child in a session of its own, which outlives it if nobody
# ends both. Whoever is alive says so in the witness log. The first word is how the shell behaves, the second for
# how many fifths of a second the child lives. FOLIOT_REVISION is the node: the workplace says so.
say() {
    read -r up _ </proc/uptime
    echo "{\"what\": \"$1\", \"host\": \"\", \"uptime\": $up, \"job\": \"shell/$FOLIOT_JOB\"," \
        "\"run\": \"$FOLIOT_KEY\", \"number\": $FOLIOT_ATTEMPT, \"token\": $FOLIOT_TOKEN," \
        "\"node\": \"$FOLIOT_REVISION\"}" >>"$WITNESS_LOG"
}

case $1 in
child)
    left=$2
    while [ "$left" -gt 0 ]; do
        say sign
        sleep 0.2
        left=$((left - 1))
    done
    say end
    ;;
stays)
    say start
    setsid sh "$0" child "$2" &
    wait
    ;;
leaves)
    say start
    setsid sh "$0" child "$2" &
    ;;
esac
