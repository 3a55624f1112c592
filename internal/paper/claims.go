package paper

// Quantity is the kind of a Claim: what the paper's text says about a figure.
type Quantity string

// These are the kinds of claims.
const (
	// Accuracy claims that the test accuracy at the end of training is Value, for the series with
	// the ε that the paper states, or without noise if Epsilon is "".
	Accuracy Quantity = "accuracy"
	// Loss claims that the accuracy at the end is at most Value below the accuracy of a training without
	// noise.
	Loss Quantity = "loss of accuracy"
	// LossBySize claims, for the training with the batch size Size, that its accuracy at the end is at
	// most Value below the accuracy of a training without noise.
	LossBySize Quantity = "loss of accuracy by sample size"
	// Above claims that the test accuracy at the end is above Value, which others reached.
	Above Quantity = "accuracy above that of others"
	// Kept claims how much accuracy a model w* keeps when noise is added to its parameters. w* was trained
	// with the clipping norm Clip, and the noise has the multiplier Sigma. The model then keeps at least
	// the fraction Value of its accuracy. If Most is given, the claim also says that with the larger noise
	// multiplier Most, at most the fraction Value is kept.
	Kept Quantity = "part of the accuracy kept"
	// Fails claims that the training with the sample size Size ends with less accuracy than the training
	// with the largest sample size.
	Fails Quantity = "accuracy of a small sample size"
	// Best claims that every training with a sample size of at least Size ends more accurate than every
	// one with a smaller sample size.
	Best Quantity = "accuracy of large sample sizes"
)

// Claim is a statement of the paper's text about one of its figures.
type Claim struct {
	Figure   string // name of the figure in this program's registry
	Says     string // the claim in words
	Where    string // words next to the claim in the paper's text, by which it can be found
	Quantity Quantity
	Epsilon  Number // for Accuracy, Above and Loss, the stated ε; "" means without noise
	Size     int    // for Fails, Best and LossBySize, the sample size
	Eta0     Number // for Accuracy and Loss in a figure of several step sizes, the initial step size
	Clip     Number // for Kept, the clipping norm
	Sigma    Number // for Kept, the noise multiplier
	Most     Number // for Kept, the upper end of a range of noise multipliers that begins with Sigma
	Value    Number
}

// Claims returns the claims of the paper's text about its figures, from its main part, its captions
// and its appendix.
func Claims() []Claim {
	const (
		lossy    = "the test accuracy degradation is about 10\\% for $\\epsilon=0.04945$"
		smallest = "When the constant sample size $s=1$, it is clear"
		largest  = "the test accuracy loss is expected less than or equal to 10\\%"
		drop     = "for $\\sigma \\leq 20$ for both strongly convex and plain convex objective functions."
		smaller  = "Another option is $C=0.075$, where we can tolerate"
		bigger   = "our algorithm can achieve the desired performance, when compared to other constant sample sizes"
		attained = "comes very close to the maximum attainable test accuracy of the non-DP setting"
	)
	var all []Claim
	for _, c := range []struct{ data, model string }{{"phishing", "logreg"}, {"phishing", "logreg-plain"},
		{"mushrooms", "logreg"}, {"mushrooms", "logreg-plain"}} {
		name := c.data + "-" + c.model
		all = append(all,
			Claim{Figure: name + "-utility", Says: "C = 0.1 keeps 90 % up to σ = 20", Where: drop, Quantity: Kept,
				Clip: "0.1", Sigma: "20", Value: "0.9"},
			Claim{Figure: name + "-utility", Says: "C = 0.1 keeps about 90 % at some σ in [18, 22]",
				Where: "\\sigma \\in \\left[18, 22 \\right]", Quantity: Kept, Clip: "0.1", Sigma: "18", Most: "22",
				Value: "0.9"},
			Claim{Figure: name + "-utility", Says: "C = 0.075 keeps about 90 % at some σ in [18, 30]", Where: smaller,
				Quantity: Kept, Clip: "0.075", Sigma: "18", Most: "30", Value: "0.9"},
			Claim{Figure: name + "-sample-size", Says: "s = 1 does not achieve good accuracy", Where: smallest,
				Quantity: Fails, Size: 1},
			Claim{Figure: name + "-sample-size", Says: "s = 26 loses at most 10 %", Where: largest,
				Quantity: LossBySize, Size: 26, Value: "0.10"},
			Claim{Figure: name + "-sample-size", Says: "s = 26 is the best size", Where: bigger, Quantity: Best, Size: 26},
			Claim{Figure: name + "-epsilon", Says: "ε = 0.04945 loses about 10 %, at most", Where: lossy,
				Quantity: Loss, Epsilon: "0.04945", Value: "0.10"},
			Claim{Figure: name + "-epsilon", Says: "ε = 0.1 comes very close to the accuracy without noise " +
				"(taken as 0.02 below)", Where: attained, Quantity: Loss, Epsilon: "0.1", Value: "0.02"})
	}
	const strongly = "achieves test accuracy 86\\% compared to 93\\% without differential privacy"
	all = append(all,
		Claim{Figure: "phishing-logreg-epsilon", Says: "86 % at ε = 0.04945", Where: strongly, Quantity: Accuracy,
			Epsilon: "0.04945", Value: "0.86"},
		Claim{Figure: "phishing-logreg-epsilon", Says: "93 % without noise", Where: strongly, Quantity: Accuracy,
			Value: "0.93"},
		Claim{Figure: "phishing-logreg-epsilon", Says: "91 % at ε = 0.1", Where: "achieves test accuracy 91\\%",
			Quantity: Accuracy, Epsilon: "0.1", Value: "0.91"})
	const lenet = "about $93\\%$, compared to $98\\%$ without differential privacy"
	const printed = "$\\bar{\\eta}_0$          & $0.1$     &     initial stepsize"
	const kept = "noise level $\\sigma \\leq 12$ for MNIST data set"
	all = append(all,
		Claim{Figure: "mnist-lenet-utility", Says: "C = 0.025 keeps 90 % up to σ = 12", Where: kept, Quantity: Kept,
			Clip: "0.025", Sigma: "12", Value: "0.9"},
		Claim{Figure: "mnist-lenet-sample-size", Says: "s = 10 does worse",
			Where:    "The constant sample size $s = 10$ (as well as $s \\leq 10$) shows a worse performance",
			Quantity: Fails,
			Size:     10},
		Claim{Figure: "mnist-lenet-sample-size", Says: "s = 370 loses at most 10 %",
			Where: "while keeping the test accuracy loss within 10\\%", Quantity: LossBySize, Size: 370, Value: "0.10"},
		Claim{Figure: "mnist-lenet-epsilon", Says: "about 93 % at ε = 0.15", Where: lenet, Quantity: Accuracy,
			Epsilon: "0.15007", Value: "0.93"},
		Claim{Figure: "mnist-lenet-epsilon", Says: "98 % without noise", Where: lenet, Quantity: Accuracy,
			Value: "0.98"},
		Claim{Figure: "mnist-lenet-epsilon", Says: "ε ≈ 0.15 loses less than 10 %",
			Where: "the test accuracy loss with $\\epsilon \\approx 0.15$ is less than 10\\%", Quantity: Loss,
			Epsilon: "0.15007", Value: "0.10"},
		Claim{Figure: "mnist-lenet-step-size", Says: "the printed step size: about 93 % at ε = 0.15", Where: printed,
			Quantity: Accuracy, Epsilon: "0.15007", Eta0: "0.1", Value: "0.93"},
		Claim{Figure: "mnist-lenet-step-size", Says: "the printed step size: 98 % without noise", Where: printed,
			Quantity: Accuracy, Eta0: "0.1", Value: "0.98"},
		Claim{Figure: "mnist-lenet-step-size", Says: "the printed step size: ε ≈ 0.15 loses less than 10 %", Where: printed,
			Quantity: Loss, Epsilon: "0.15007", Eta0: "0.1", Value: "0.10"})
	const whole = "we achieve $\\approx 60\\%$ test accuracy for $\\epsilon \\in [0.5,3]$"
	const pattern = "deteriorates the performance of accuracy significantly"
	return append(all,
		Claim{Figure: "cifar10-alexnet-utility", Says: "C = 0.025 keeps 90 % up to σ = 6.572",
			Where: "noise level $\\sigma \\leq 6.572$ for CIFAR", Quantity: Kept, Clip: "0.025", Sigma: "6.572",
			Value: "0.9"},
		Claim{Figure: "cifar10-alexnet-sample-size", Says: "s ≤ 50 deteriorates", Where: pattern, Quantity: Fails,
			Size: 50},
		Claim{Figure: "cifar10-alexnet-sample-size", Says: "300 ≤ s ≤ 689 is highest",
			Where: "the test accuracy gets the highest level", Quantity: Best, Size: 300},
		Claim{Figure: "cifar10-alexnet-epsilon", Says: "ε ≈ 0.5 loses less than 10 %",
			Where: "the test accuracy reduces less than $10\\%$", Quantity: Loss, Epsilon: "0.5", Value: "0.10"},
		Claim{Figure: "cifar10-alexnet-epsilon", Says: "about 60 % at ε = 2",
			Where: "test accuracy after $T = 350000$ iterations", Quantity: Accuracy, Epsilon: "2.0", Value: "0.60"},
		Claim{Figure: "cifar10-alexnet-epsilon", Says: "about 60 % at ε = 0.5, the least of [0.5, 3]", Where: whole,
			Quantity: Accuracy, Epsilon: "0.5", Value: "0.60"},
		Claim{Figure: "cifar10-alexnet-epsilon", Says: "about 60 % at ε = 3, the most of [0.5, 3]", Where: whole,
			Quantity: Accuracy, Epsilon: "3.0", Value: "0.60"},
		Claim{Figure: "cifar10-alexnet-epsilon", Says: "at ε = 1 better than 56.8 % (De et al. 2022)",
			Where: "hence, with $\\epsilon = 1$ our method still yields better test accuracy", Quantity: Above,
			Epsilon: "1.0", Value: "0.568"},
		Claim{Figure: "cifar10-alexnet-epsilon", Says: "about 74 % without noise",
			Where: "$\\approx 0.74$ maximum test accuracy", Quantity: Accuracy, Value: "0.74"})
}
