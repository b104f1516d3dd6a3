#!/bin/sh
# Loop test: does Belay stop an agent that changes the same files and meets the same failure?
#
#     belay serve                      # in another terminal
#     sh examples/loop-test.sh         # or: sh examples/loop-test.sh http://127.0.0.1:8787
#
# Posts two rounds of edit and failure for one session to Loop Watchdog's events API, then makes one model request as
# that session. Belay refuses the request with status 409. No request reaches a model, and no key is needed.
# `compat.pause_at` sets the number of rounds. Needs curl.
set -eu

base=${1:-http://127.0.0.1:8787}
session="loop-test-$$-$(date +%s)"

post() {
    curl --silent --show-error --fail --output /dev/null \
        --header 'content-type: application/json' --data "$2" "$base$1"
}

event() {
    post /v1/watchdog/events "{
        \"session_id\": \"$session\", \"kind\": \"$1\", \"summary\": \"$2\",
        \"files\": [\"src/payments/refund.py\", \"tests/test_refund.py\"], \"metadata\": {$3}
    }"
}

failure='"test_id": "test_refund", "error": "AssertionError: expected 200, got 500"'
for round in 1 2; do
    event file_edit "Changed the refund handler" ''
    event test_failure "test_refund failed" "$failure"
    echo "round $round: edit and failure reported"
done

answer=$(mktemp)
trap 'rm -f "$answer"' EXIT
status=$(curl --silent --show-error --output "$answer" --write-out '%{http_code}' \
    --header 'content-type: application/json' --header "x-loop-session: $session" \
    --data '{"model": "gpt-5", "messages": [{"role": "user", "content": "Go on"}]}' \
    "$base/v1/chat/completions")

cat "$answer"
echo
if [ "$status" = 409 ]; then
    echo "passed: the request of session $session was refused with 409"
    echo "To clean up: belay archive $session"
else
    echo "failed: expected status 409, got $status" >&2
    exit 1
fi
