package paper

import "strings"

// figures are the figures that this program makes again, with their numbers in the paper, in its order. Those of the
// appendix repeat Figures 1, 2 and 3 for phishing and MNIST; here they have the numbers of the main part.
var figures = []struct{ name, number string }{
	{"phishing-logreg-utility", "1a"}, {"phishing-logreg-sample-size", "1b"}, {"phishing-logreg-epsilon", "1c"},
	{"phishing-logreg-plain-utility", "2a"}, {"phishing-logreg-plain-sample-size", "2b"}, {"phishing-logreg-plain-epsilon", "2c"},
	{"mnist-lenet-utility", "3a"}, {"mnist-lenet-sample-size", "3b"}, {"mnist-lenet-epsilon", "3c"},
	{"mushrooms-logreg-utility", "5a"}, {"mushrooms-logreg-plain-utility", "5b"}, {"cifar10-alexnet-utility", "6b"},
	{"mushrooms-logreg-sample-size", "8a"}, {"mushrooms-logreg-plain-sample-size", "8b"}, {"cifar10-alexnet-sample-size", "10"},
	{"mushrooms-logreg-epsilon", "12a"}, {"mushrooms-logreg-plain-epsilon", "12b"}, {"cifar10-alexnet-epsilon", "14"},
}

// Place returns the place of a figure in the order of the paper, for sorting. Companions of a paper's figure have its
// place: the comparison of sample sizes at one ε, and that of step sizes. Other figures that the paper does not have
// come last.
func Place(figure string) int {
	figure = strings.TrimSuffix(figure, "-equal")
	if model, is := strings.CutSuffix(figure, "-step-size"); is {
		figure = model + "-epsilon"
	}
	return numbered(figure)
}

// numbered returns the index of the figure in figures, or len(figures).
func numbered(figure string) int {
	for i, f := range figures {
		if f.name == figure {
			return i
		}
	}
	return len(figures)
}

// Titled returns the title of a figure, with the number of the paper's figure in front if it is one of the paper's.
func Titled(figure, title string) string {
	if i := numbered(figure); i < len(figures) {
		return "Figure " + figures[i].number + ": " + title
	}
	return title
}
