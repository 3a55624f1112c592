// Reading and showing numbers. Bounds are rounded to the safe side: ε, δ and σ up, sample
// sizes, rates and epochs down.

// numberOf reads typed text; NaN if it is not a number. A comma separates thousands and is not a
// decimal point: 0,125 is refused. If the number need not be whole, 1,125 is refused, too:
// it may mean 1.125, and the noise would be a thousand times too large.
function numberOf(text, whole = false) {
  const bare = String(text)
    .trim()
    .replace(/[\s_\u2009\u202f]/g, "");
  const divided = /^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(bare);
  const plain = divided && (whole || !/^[^,]*,[^,.]*$/.test(bare)) ? bare.replace(/,/g, "") : bare;
  return /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(plain) ? Number(plain) : NaN;
}

// stepped adds one unit in the last of the digits of a number in scientific notation.
function stepped(digits, exponent, side) {
  if (side < 0 && /^10*$/.test(digits)) return { digits: "9".repeat(digits.length), exponent: exponent - 1 };
  const text = (BigInt(digits) + BigInt(side)).toString();
  if (text.length > digits.length) return { digits: text.slice(0, digits.length), exponent: exponent + 1 };
  return { digits: text, exponent };
}

// rounded formats v ≥ 0 with the given significant digits: not below v if side is 1, not
// above v if side is -1.
function rounded(v, digits, side) {
  if (!Number.isFinite(v)) return v === Infinity ? "∞" : "–";
  if (v === 0) return "0";
  const [mantissa, power] = v.toExponential(digits - 1).split("e");
  let at = { digits: mantissa.replace(".", ""), exponent: Number(power) };
  if ((v - Number(`${mantissa}e${power}`)) * side > 0) at = stepped(at.digits, at.exponent, side);
  return plain(at.digits.replace(/0+$/, "") || "0", at.exponent);
}

// plain formats d.ddd × 10^exponent without the exponent where possible.
function plain(digits, exponent) {
  if (exponent < -4 || exponent > 11) {
    return digits[0] + (digits.length > 1 ? "." + digits.slice(1) : "") + "e" + exponent;
  }
  if (exponent < 0) return "0." + "0".repeat(-exponent - 1) + digits;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  const rest = digits.slice(exponent + 1);
  return grouped(whole) + (rest ? "." + rest : "");
}

function grouped(digits) {
  return digits.length > 3 ? digits.replace(/\B(?=(\d{3})+$)/g, ",") : digits;
}

function up(v, digits = 5) {
  return rounded(v, digits, 1);
}

function down(v, digits = 5) {
  return rounded(v, digits, -1);
}

// count formats an integer.
function count(v) {
  return v >= 2 ** 53 ? "≥ 2^53" : grouped(String(v));
}

// inHundred formats a fraction as a number in 100, rounded up.
function inHundred(share) {
  return hundredths(Math.ceil(share * 1e4 - 1e-9));
}

// inHundredDown is inHundred rounded down: the bound on members who are recognised holds if at
// most this many others are wrongly suspected.
function inHundredDown(share) {
  return hundredths(Math.floor(share * 1e4 + 1e-9));
}

// hundredths formats an integer number of hundredths.
function hundredths(n) {
  return (n / 100).toFixed(2).replace(/\.?0+$/, "");
}

// inShare formats a share of the full-batch signal, as the command plan does.
function inShare(share) {
  return `${(share * 100).toFixed(0)} %`;
}

// decimals formats v ≥ 0 with at least one decimal, to a side like rounded.
function decimals(v, places, side) {
  const text = v.toFixed(places);
  if ((v - Number(text)) * side <= 0) return text;
  const digits = (BigInt(text.replace(".", "")) + BigInt(side)).toString().padStart(places + 1, "0");
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

// tenths formats a fraction as a number in 100 with one decimal, to a side like rounded.
function tenths(share, side) {
  return (Number(decimals(share, 3, side)) * 100).toFixed(1);
}

// inPercent formats a relative margin with its sign, rounded down.
function inPercent(slack) {
  const percent = slack * 100;
  if (percent > 999) return "> +999 %";
  const digits = Math.abs(percent) >= 100 ? 0 : 2;
  const low = Math.floor(percent * 10 ** digits) / 10 ** digits;
  return `${low < 0 ? "−" : "+"}${Math.abs(low).toFixed(digits)} %`;
}
