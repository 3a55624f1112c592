#!/bin/bash
# network.sh measures a training and a sweep over networks that lose and delay packets, and cuts each
# part off for a while. Three brokers, a server and two clients are in network namespaces of this
# machine, joined by a bridge. Each packet passes tc netem once, where it leaves its namespace.
#
#   make network          # builds both programs; needs root, ip and tc
#
# STEPS is the number of steps of a client, LOSSES and TRIPS are the settings, in % and in ms. While a
# part is cut off for AWAY seconds, a client has LONG steps.
# Without the kernel's netem, only a network without loss and delay is measured.
set -euo pipefail
program=$(realpath "${1:?the path of proactivedp}")
nats=$(realpath "${2:?the path of nats-server}")
here=$(realpath "$(dirname "$0")/../../..")
steps=${STEPS:-1000} long=${LONG:-10000} losses=${LOSSES:-0 1 5} trips=${TRIPS:-0 20 100} away=${AWAY:-15}
parts="broker-0 broker-1 broker-2 server client-0 client-1"

missing() { echo "network.sh: missing: $*" >&2; }
[ "$(id -u)" = 0 ] || { missing "root, for network namespaces"; exit 1; }
for tool in ip tc timeout; do
  command -v $tool >/dev/null || { missing "$tool (iproute2, coreutils)"; exit 1; }
done

work=$(mktemp -d)
tag=pdp$$
running=()
space() { local part=$1; shift; ip netns exec "$tag-$part" "$@"; }
clean() {
  for pid in "${running[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  for part in hub $parts; do ip netns del "$tag-$part" 2>/dev/null || true; done
  rm -rf "$work"
}
trap clean EXIT

# A bridge in a namespace of its own, and a cable from it to each part.
ip netns add $tag-hub || { missing "network namespaces"; exit 1; }
space hub ip link add hub type bridge
space hub ip link set hub up
n=0
for part in $parts; do
  n=$((n + 1))
  ip netns add $tag-$part
  space hub ip link add v$n type veth peer name wire netns $tag-$part
  space hub ip link set v$n master hub up
  space $part ip addr add 10.77.0.$n/24 dev wire
  space $part ip link set wire up
  space $part ip link set lo up
done
netem=yes
space server tc qdisc replace dev wire root netem delay 1ms 2>/dev/null || {
  netem=no
  missing "the kernel's netem (module sch_netem): measured without loss and delay only"
}

# shape LOSS TRIP sets the loss and the delay at each part.
shape() {
  [ $netem = yes ] || return 0
  for part in $parts; do
    space $part tc qdisc replace dev wire root netem limit 100000 delay "$(($2 / 2))ms" loss "$1%"
  done
}

# await COMMAND waits for at most a minute until a command succeeds.
await() {
  for _ in $(seq 300); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.2
  done
  missing "an end of: $*"
  return 1
}

shape 0 0
"$program" keys --clients 2 --host 10.77.0.1,10.77.0.2,10.77.0.3 --dir "$work/keys" >/dev/null
for b in 0 1 2; do
  dir=$work/broker-$b
  mkdir "$dir"
  cp "$work"/keys/{nats.conf,server.crt,server.key} "$dir"
  sed -e "s#store_dir: /data#store_dir: \"$dir/data\"#" -e 's#broker-0.broker#10.77.0.1#' \
    -e 's#broker-1.broker#10.77.0.2#' -e 's#broker-2.broker#10.77.0.3#' "$here/deploy/nats-server.conf" >"$dir/all.conf"
  (cd "$dir" && SERVER_NAME=broker-$b exec ip netns exec $tag-broker-$b "$nats" -c all.conf >log 2>&1) &
  running+=($!)
done
url=tls://10.77.0.1:4222,tls://10.77.0.2:4222,tls://10.77.0.3:4222
await grep -q 'JetStream cluster new metadata leader\|Self is new JetStream cluster metadata leader' "$work"/broker-{0,1,2}/log

number() { sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" "$2" | head -1; }

# training NAME STEPS [PART] trains, cuts a part off if one is named, and prints updates and seconds.
training() {
  local dir=$work/$1 pids=() ended=0
  space server timeout 900 "$program" host --data synth-phishing --clients 2 --sigma 2 --sample-size 20 \
    --grad-computations $((20 * $2)) --broker $url --creds "$work/keys/server.creds" --dir "$dir" --json \
    >"$dir.json" 2>"$dir.log" &
  pids+=($!)
  for c in 0 1; do
    space client-$c timeout 900 "$program" join $url --client $c --creds "$work/keys/client-$c.creds" \
      --max-epsilon any --dir "$dir-$c" >"$dir-$c.out" 2>"$dir-$c.log" &
    pids+=($!)
  done
  if [ $# -gt 2 ]; then
    await test -s "$dir/server.state"
    space "$3" ip link set wire down
    sleep "$away"
    space "$3" ip link set wire up
  fi
  for pid in "${pids[@]}"; do wait "$pid" || ended=$?; done
  if [ $ended != 0 ]; then
    echo "failed with status $ended: $(tail -qn1 "$dir.log" "$dir"-{0,1}.log | tr '\n' ' ')"
    return 1
  fi
  echo "$(number updates "$dir.json") $(number seconds "$dir.json")"
}

# sweep NAME lets both clients' machines compute a comparison, and prints its cells and seconds.
sweep() {
  local dir=$work/$1 pids=() begun
  for c in 0 1; do
    space client-$c "$program" worker $url --creds "$work/keys/worker.creds" --workers 1 >"$dir-$c.log" 2>&1 &
    pids+=($!)
  done
  begun=$(date +%s.%N)
  space server timeout 900 "$program" delay --data synth-phishing --sample-size 20 --grad-computations 2000 --delta 1e-4 \
    --delays 1,2,3,4 --seeds 5 --out "$dir" --workers-at $url --creds "$work/keys/server.creds" >"$dir.out" 2>"$dir.log" || {
    echo "failed: $(tail -n1 "$dir.log")"
  }
  echo "$(grep -c 'msg="a cell is done"' "$dir.log") $(date +%s.%N) $begun" | awk '{print $1, $2 - $3}'
  kill "${pids[@]}"
  wait "${pids[@]}" || true
}

rate() { awk '{ if ($2 > 0) printf "%.1f", $1 / $2; else print "-" }'; }

failed=0
echo "| loss, % | round trip, ms | updates a second | cells a second |"
echo "|---|---|---|---|"
for loss in $losses; do
  for trip in $trips; do
    [ $netem = yes ] || [ "$loss$trip" = 00 ] || continue
    shape "$loss" "$trip"
    t=$(training "run-$loss-$trip" "$steps") || { failed=1; echo "$t" >&2; }
    s=$(sweep "sweep-$loss-$trip")
    echo "| $loss | $trip | $(rate <<<"$t") | $(rate <<<"$s") |"
  done
done
shape 0 0
echo
echo "| cut off for $away s | updates of $((2 * long)) | seconds |"
echo "|---|---|---|"
for part in $parts; do
  t=$(training "cut-$part" "$long" "$part") || { failed=1; echo "$t" >&2; }
  echo "| $part | ${t// / | } |"
done
exit $failed
