// Numbers as they are read and shown. What is a bound is shown on its safe side: ε, δ and
// σ are rounded up, sample sizes, rates and epochs down.

// numberOf reads what somebody typed; NaN if it is no number. A comma divides thousands, and
// stands for no point: 0,125 is no number, and not 125. Where a number need not be whole, 1,125
// is none, either: who writes 1.125 so would get noise of a thousandfold.
function numberOf(text, whole = false) {
  const bare = String(text)
    .trim()
    .replace(/[\s_\u2009\u202f]/g, "");
  const divided = /^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(bare);
  const plain = divided && (whole || !/^[^,]*,[^,.]*$/.test(bare)) ? bare.replace(/,/g, "") : bare;
  return /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(plain) ? Number(plain) : NaN;
}

// stepped returns the digits of a number in scientific notation, one unit further.
function stepped(digits, exponent, side) {
  if (side < 0 && /^10*$/.test(digits)) return { digits: "9".repeat(digits.length), exponent: exponent - 1 };
  const text = (BigInt(digits) + BigInt(side)).toString();
  if (text.length > digits.length) return { digits: text.slice(0, digits.length), exponent: exponent + 1 };
  return { digits: text, exponent };
}

// rounded writes v ≥ 0 with so many significant digits, not below v if side is 1, not
// above it if side is -1.
function rounded(v, digits, side) {
  if (!Number.isFinite(v)) return v === Infinity ? "∞" : "–";
  if (v === 0) return "0";
  const [mantissa, power] = v.toExponential(digits - 1).split("e");
  let at = { digits: mantissa.replace(".", ""), exponent: Number(power) };
  if ((v - Number(`${mantissa}e${power}`)) * side > 0) at = stepped(at.digits, at.exponent, side);
  return plain(at.digits.replace(/0+$/, "") || "0", at.exponent);
}

// plain writes d.ddd × 10^exponent as people do.
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

// count writes a whole number.
function count(v) {
  return v >= 2 ** 53 ? "≥ 2^53" : grouped(String(v));
}

// inHundred writes a share as so many in 100, rounded up.
function inHundred(share) {
  return hundredths(Math.ceil(share * 1e4 - 1e-9));
}

// inHundredDown is inHundred rounded down: a bound on who is recognised holds for whoever is
// wrong about no more others than that.
function inHundredDown(share) {
  return hundredths(Math.floor(share * 1e4 + 1e-9));
}

// hundredths writes a whole number of them.
function hundredths(n) {
  return (n / 100).toFixed(2).replace(/\.?0+$/, "");
}

// decimals writes v ≥ 0 with so many decimals, at least 1, on a side as rounded does.
function decimals(v, places, side) {
  const text = v.toFixed(places);
  if ((v - Number(text)) * side <= 0) return text;
  const digits = (BigInt(text.replace(".", "")) + BigInt(side)).toString().padStart(places + 1, "0");
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

// tenths writes a share as so many in 100 with one decimal, on a side as rounded does.
function tenths(share, side) {
  return (Number(decimals(share, 3, side)) * 100).toFixed(1);
}

// inPercent writes a relative slack with its sign, rounded down.
function inPercent(slack) {
  const percent = slack * 100;
  if (percent > 999) return "> +999 %";
  const digits = Math.abs(percent) >= 100 ? 0 : 2;
  const low = Math.floor(percent * 10 ** digits) / 10 ** digits;
  return `${low < 0 ? "−" : "+"}${Math.abs(low).toFixed(digits)} %`;
}
