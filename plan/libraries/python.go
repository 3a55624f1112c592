package libraries

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
)

// The code templates of each library. They are strings, and not an embed.FS, to keep package embed out
// of the planner page.
var (
	//go:embed code/private.py
	privateCode string
	//go:embed code/opacus.py
	opacusCode string
	//go:embed code/flower.py
	flowerCode string
	//go:embed code/tfprivacy.py
	tfPrivacyCode string
	//go:embed code/jaxprivacy.py
	jaxPrivacyCode string
	//go:embed code/jaxpoisson.py
	jaxPoissonCode string
	//go:embed code/jaxallocation.py
	jaxAllocationCode string
	//go:embed code/opacus_short.py
	opacusShort string
	//go:embed code/tfprivacy_short.py
	tfPrivacyShort string
	//go:embed code/jaxprivacy_short.py
	jaxPrivacyShort string
)

// writer writes the code for one library: first the constants, then the parts.
type writer struct {
	library string
	tried   string
	parts   []string
	// allocation are the parts for random allocation, or nil if the library does not draw it.
	allocation []string
	// bits is the precision of the random numbers that the library compares with the sample rate. The
	// rate is rounded down to a multiple of 2^-bits, so that no record is drawn with a larger
	// probability than planned.
	bits int
	// complete is the format of the code that trains by itself, if this code is only lines for a training that
	// exists. Only the constants that they use are written.
	complete Format
	caveats  []string // {sampler} stands for what the library draws
}

// sums explains how to convert the step size for a library that divides by the batch size.
const sums = "ProactiveDP multiplies its step size η with the noised SUM of clipped gradients; "

// means explains how to convert the step size for code that keeps the user's optimizer.
const means = sums + "your optimizer gets the noised mean, which is the sum over EXPECTED_BATCH_SIZE. A learning rate of η " +
	"times EXPECTED_BATCH_SIZE takes the same steps."

// triedShort says how the short code was tried.
const triedShort = "syntax checked and not run"

// torchBits is the precision of torch.rand, in bits. Opacus compares these numbers with the sample
// rate.
const torchBits = 24

// ownRate explains why the code for Opacus does not call make_private.
const ownRate = "PrivacyEngine.make_private computes the sample rate and the expected batch size from the data set: " +
	"one more record changes both, and its ε does not hold for add-or-remove adjacency (Opacus' issues 571 and 819). " +
	"The code does not call it: it uses the parts of Opacus with constants. The sample rate is rounded down to a " +
	"multiple of 2^-24, because Opacus draws with random numbers of 24 bits."

var writers = map[Format]writer{
	Opacus: {
		library: "Opacus 1.5.4", parts: []string{privateCode, opacusCode}, bits: torchBits,
		tried: "run with the public sources of Opacus 1.5.4 and 1.6.0 on Debian's PyTorch 1.13.1; stubs replaced " +
			"imports that one process does not use",
		caveats: []string{
			ownRate,
			sums + "Opacus uses the noised mean, which is the sum over the expected batch size. A learning " +
				"rate " +
				"of η times the expected batch size takes the same steps.",
			"Opacus keeps a gradient for each record of a batch in memory. If there is not enough memory, " +
				"lower at_once: it is how many records are computed together.",
			"Two runs with one seed share their noise, so the code takes a new seed from the operating " +
				"system. Set secure_mode=True for a real release.",
			"Opacus' own ε is for add-or-remove adjacency.",
		},
	},
	TFPrivacy: {
		library: "TensorFlow Privacy 0.9.0", parts: []string{tfPrivacyCode},
		tried: "syntax checked; its event was run with the public source of dp_accounting 0.6.0; the training " +
			"was compared with the public source of TensorFlow Privacy 0.9.0 but not run",
		caveats: []string{
			"The Keras optimizers of TF Privacy use fixed-size batches. Instead, the code draws Poisson " +
				"samples and sums with GaussianSumQuery, record by record: this is correct, but slow.",
			"These optimizers clip the mean gradient of a microbatch. With num_microbatches below the batch " +
				"size, one record can change it by 2C, and the noise is too small.",
			sums + "so does this code, with step_size = η. For an optimizer that divides by the batch size, " +
				"the " +
				"learning rate is η times the sample size.",
			"Do not call tf.random.set_seed: two runs with one seed share their noise.",
			"A model that keeps averages of records, as batch normalization does, is refused.",
			"TF Privacy 0.9.0 needs Python below 3.12 and TensorFlow up to 2.15.",
			"The event that the code prints is for dp_accounting; proactivedp account --events reads it, too.",
		},
	},
	JAXPrivacy: {
		library: "JAX Privacy 2.2.0", parts: []string{jaxPoissonCode, jaxPrivacyCode},
		allocation: []string{jaxAllocationCode, jaxPrivacyCode},
		tried:      "syntax checked and compared with the public source of JAX Privacy 2.3.0.dev0 (8967688); not run",
		caveats: []string{
			"The execution plans of JAX Privacy are experimental and may change. The code uses its {sampler} " +
				"and its clipped gradients, and adds the noise itself.",
			sums + "so does this code, with step_size = η.",
			"JAX compiles every sample size once. If that takes too long, pad the samples.",
		},
	},
	OpacusShort: {
		complete: Opacus, library: "Opacus 1.5.4", parts: []string{opacusShort}, bits: torchBits,
		tried: "run with the public sources of Opacus 1.4.1 and 1.5.4 on Debian's PyTorch 1.13.1; stubs replaced imports that " +
			"it does not use",
		caveats: []string{
			ownRate,
			means,
			"Opacus keeps a gradient for each record of a batch in memory. If there is not enough memory, use the " +
				"complete code, which computes a batch in parts.",
			"Two runs with one seed share their noise, so the code takes a new seed from the operating " +
				"system. Do not seed torch afterwards.",
		},
	},
	TFPrivacyShort: {
		complete: TFPrivacy, library: "TensorFlow Privacy 0.9.0", parts: []string{tfPrivacyShort}, tried: triedShort,
		caveats: []string{
			"Do not use an optimizer of TF Privacy with this code: it would clip and add noise again, for batches of fixed " +
				"size. The sum is made record by record, which is correct, but slow.",
			means,
			"Do not call tf.random.set_seed: two runs with one seed share their noise.",
			"A model that keeps averages of records, as batch normalization does, is refused.",
		},
	},
	JAXPrivacyShort: {
		complete: JAXPrivacy, library: "JAX Privacy 2.2.0", parts: []string{jaxPoissonCode, jaxPrivacyShort},
		allocation: []string{jaxAllocationCode, jaxPrivacyShort}, tried: triedShort,
		caveats: []string{
			means,
			"An optimizer that looks at the gradient of a second batch, or calls the loss itself, releases more than " +
				"the plan counts.",
			"JAX compiles every sample size once. If that takes too long, pad the samples.",
		},
	},
	Flower: {
		library: "Flower 1.28.0 and Opacus 1.5.4", parts: []string{privateCode, flowerCode}, bits: torchBits,
		tried: "syntax checked; the rounds of its clients were run with the public sources of Opacus 1.5.4 and " +
			"1.6.0 on Debian's PyTorch 1.13.1; the rest was compared with the public source of Flower 1.28.0 " +
			"(fdef7af) but not run",
		caveats: []string{
			"Flower's own wrappers for differential privacy are not used: they protect a whole CLIENT, and " +
				"their ε counts clients. Here Opacus makes the rounds of each client private for its RECORDS.",
			ownRate,
			"One round of Flower is one round of the plan: one Poisson sample and one noised step of every " +
				"client. FedAvg waits for all clients; ProactiveDP's clients may run ahead.",
			sums + "Opacus uses the noised mean: a learning rate of η times the expected batch size " +
				"takes the same steps, and FedAvg divides their sum by the number of clients.",
			"Opacus' own ε is for add-or-remove adjacency and for one client.",
			"run_simulation needs flwr[simulation] and is deprecated; flwr run takes the same two apps.",
		},
	},
}

// sampler names what JAX Privacy draws for the rounds.
func sampler(e dp.Event) string {
	if e.Sampling == dp.Allocation {
		return "BallsInBinsSampling"
	}
	return "Poisson sampling"
}

// shared returns a caveat about clients that hold the same records, or "". The code for Flower runs all clients.
func shared(f Format, r Release) string {
	switch {
	case f != Flower && r.Holders <= 1:
		return ""
	case f != Flower:
		return fmt.Sprintf("This is the code of one client. The ε above is for a record that %d clients "+
			"hold, and counts the rounds of all of them.", r.Holders)
	case r.Holders <= 1:
		return "The ε above is for a record that ONE client holds. If clients have records in common, each of " +
			"them spends it: plan with --clients and --shared."
	}
	return fmt.Sprintf("The ε above is for a record that %d clients hold, and counts the rounds of all of them: "+
		"with more CLIENTS it is larger.", r.Holders)
}

func (w writer) write(f Format, r Release) (Code, error) {
	parts := w.parts
	switch {
	case r.Event.Sampling == dp.Poisson:
	case r.Event.Sampling == dp.Allocation && w.allocation != nil:
		parts = w.allocation
	case r.Event.Sampling == dp.Allocation:
		return Code{}, fmt.Errorf("sampling = %q, must be %q for %s, which does not draw it; --format %s does: %w",
			r.Event.Sampling, dp.Poisson, w.library, JAXPrivacy, dp.ErrNotCovered)
	default:
		return Code{}, fmt.Errorf("sampling = %q, must be %q for %s: the code draws Poisson samples: %w",
			r.Event.Sampling, dp.Poisson, w.library, dp.ErrNotCovered)
	}
	phases := r.phases()
	rates := make([]float64, len(phases))
	for i, e := range phases {
		rates[i] = e.SampleRate()
		if w.bits > 0 {
			rates[i] = math.Ldexp(math.Floor(math.Ldexp(rates[i], w.bits)), -w.bits)
		}
		if rates[i] == 0 {
			return Code{}, fmt.Errorf("sample rate = %v, must be at least 2^-%d for %s, which draws with random "+
				"numbers of that precision: %w", e.SampleRate(), w.bits, w.library, dp.ErrNotCovered)
		}
	}
	c := Code{Format: f, Library: w.library, Tried: w.tried}
	for _, caveat := range append(slices.Clip(w.caveats), shared(f, r)) {
		if caveat != "" {
			c.Caveats = append(c.Caveats, strings.ReplaceAll(caveat, "{sampler}", sampler(r.Event)))
		}
	}
	if len(phases) > 1 {
		c.Caveats = append(c.Caveats, "Each row of PHASES is a kind of rounds, and the training runs them in this order. The "+
			"learning rate or step size stays the same, and EXPECTED_BATCH_SIZE is the one of the row.")
	}
	var text strings.Builder
	title := "Private training with "
	if w.complete != "" {
		title = "Lines that make your training private with "
	}
	fmt.Fprintf(&text, "\"\"\"%s%s, as planned by ProactiveDP.\n\n%s\n\n", title, w.library,
		wrapped(escaped(claim.Noted(claim.Statement(claim.PerRecord, r.Bound, r.all()...), r.Notes))))
	fmt.Fprintf(&text, "%s\n\n%s\n\n%s\n", wrapped(holdsFor(r.Event)), wrapped(constantsOf(r.Event)),
		wrapped("Tried: "+w.tried+"."))
	for _, caveat := range c.Caveats {
		fmt.Fprintf(&text, "\n%s\n", wrapped("- "+caveat))
	}
	text.WriteString("\"\"\"\n\n")
	r.constants(&text, rates, func(name string) bool { return w.complete == "" || strings.Contains(strings.Join(parts, ""), name) })
	if f == Flower {
		r.clients(&text)
	}
	for _, part := range parts {
		// The imports and constants above the line "# ---" only help an editor. The code that is
		// written has its own.
		_, after, found := strings.Cut(part, "# ---\n")
		if !found {
			return Code{}, fmt.Errorf("the template for %s has no line \"# ---\" after its constants", w.library)
		}
		text.WriteString(after)
	}
	c.Text = text.String()
	return c, nil
}

// all returns the rounds that the bound counts, which are those of all holders of a record.
func (r Release) all() []dp.Event {
	all, _ := dp.Times(r.phases(), max(r.Holders, 1)) // the bound counts them, and check their number
	return all
}

// holdsFor returns a comment for the code about which batches the ε holds for, and which it does
// not hold for.
func holdsFor(e dp.Event) string {
	if e.Sampling == dp.Allocation {
		drawn := "chooses again in each epoch"
		if e.Redraw == dp.Once {
			drawn = "keeps its batch for all epochs"
		}
		return fmt.Sprintf("This ε holds if each record chooses one of %d batches on its own, uniformly at random, and %s. It does "+
			"NOT hold for a DataLoader with shuffle=True, whose batches have equal sizes: they cost more, see `proactivedp "+
			"account --sampling shuffle`.", e.Batches(), drawn)
	}
	if e.Sampling == dp.Shuffle && e.Redraw == dp.Once {
		return "This ε holds for batches that are cut from one permutation of the records, which all epochs keep. A " +
			"DataLoader with shuffle=True draws a new one in each epoch."
	}
	if e.Sampling == dp.Shuffle {
		drawn := "a permutation of the records"
		if e.Redraw == dp.EachEpoch {
			drawn = "a new permutation of the records in each epoch"
		}
		return "This ε holds for batches that are cut from " + drawn + ", as a " +
			"DataLoader makes them with shuffle=True and drop_last=True."
	}
	return fmt.Sprintf("This ε holds for %s sampling with independent batches. It does NOT hold for a DataLoader "+
		"with shuffle=True: such batches cost more, see `proactivedp account --sampling shuffle`.",
		e.Sampling)
}

// constantsOf returns a comment for the code about its constants and about the numbers that the
// plan assumes to be public.
func constantsOf(e dp.Event) string {
	drawn := "sample rate, the expected batch size"
	if e.Sampling == dp.Allocation {
		drawn = "number of batches"
	}
	text := "The " + drawn + ", the noise and the number of steps are constants of the " +
		"plan. The code never computes them from the data set, so one more or one less record changes none " +
		"of them. "
	if e.DatasetSize == 0 {
		return text + "The plan has a sample rate but no number of records, so EXPECTED_BATCH_SIZE is 1. You may " +
			"replace it with any number that does not come from the data: ε does not depend on it."
	}
	return text + fmt.Sprintf("The plan is for N = %d records. This number is public, because it is in this file.",
		e.DatasetSize)
}

// phaseNames are the constants of a phase, in the order of its row in PHASES.
const phaseNames = "NOISE_MULTIPLIER, SAMPLE_RATE, EXPECTED_BATCH_SIZE, STEPS"

// constants writes the numbers of the release that are used. rates are the sample rates that the code uses.
func (r Release) constants(w *strings.Builder, rates []float64, used func(name string) bool) {
	e := r.Event
	size, records := "1", "None"
	if e.DatasetSize != 0 {
		size, records = fmt.Sprint(e.ExpectedSize()), fmt.Sprint(e.DatasetSize)
	}
	type constant struct{ name, value, is string }
	norm := constant{"MAX_GRAD_NORM", "1.0", "C: choose it, but not by looking at private data"}
	rounds := []constant{{"NOISE_MULTIPLIER", decimal.Exactly(e.NoiseMultiplier), "σ: noise over clipping norm"}, norm}
	row := phaseNames
	if e.Sampling == dp.Allocation {
		rounds = append(rounds, constant{"BATCHES", fmt.Sprint(e.Batches()), "t: rounds of an epoch"},
			constant{"REDRAW", fmt.Sprintf("%q", e.Redraw), `"epoch": each epoch draws anew; "once": one draw is kept`})
		row = strings.Replace(row, "SAMPLE_RATE", "None", 1)
	} else {
		rounds = append(rounds, constant{"SAMPLE_RATE", decimal.Exactly(rates[0]), "q: probability of each record to be in a batch"})
	}
	rounds = append(rounds,
		constant{"EXPECTED_BATCH_SIZE", size, "s: expected number of records in a batch; 1 if the plan has only a rate"},
		constant{"STEPS", fmt.Sprint(e.Count), "T: rounds"},
		constant{"PHASES", "((" + row + "),)", "kinds of rounds, one after the other"})
	if len(r.More) > 0 {
		rows := ""
		for i, e := range r.phases() {
			size := 1
			if e.DatasetSize != 0 {
				size = e.SampleSize
			}
			rows += fmt.Sprintf("    (%s, %s, %d, %d),\n", decimal.Exactly(e.NoiseMultiplier), decimal.Exactly(rates[i]), size, e.Count)
		}
		rounds = []constant{{"PHASES", "(\n" + rows + ")", phaseNames}, norm}
	}
	for _, c := range append(rounds,
		constant{"DELTA", decimal.Exactly(r.Bound.DeltaUpper), "δ"},
		constant{"DATASET_SIZE", records, "N: only used for the random data at the end"}) {
		if used(c.name) || strings.Contains(phaseNames, c.name) {
			fmt.Fprintf(w, "%s = %s  # %s\n", c.name, c.value, c.is)
		}
	}
}

// clients writes the number of clients. If several clients hold each record, it is exactly their
// number, because the bound counts no others.
func (r Release) clients(w *strings.Builder) {
	switch {
	case r.Holders > 1:
		fmt.Fprintf(w, "CLIENTS = %d  # all of them hold the same records\n", r.Holders)
	case r.Clients > 1:
		fmt.Fprintf(w, "CLIENTS = %d  # with no record in common\n", r.Clients)
	default:
		fmt.Fprintln(w, "CLIENTS = 5  # as many as you have, with no record in common")
	}
}

// escaped escapes text for a docstring. Names of roots, and notes, may contain anything.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"""`, `\"\"\"`).Replace(text)
}

// docWidth is the width of the lines of a docstring, in characters.
const docWidth = 88

func wrapped(text string) string {
	fits := func(line string) bool { return utf8.RuneCountInString(line) <= docWidth }
	return strings.Join(message.Wrap(text, fits), "\n")
}
