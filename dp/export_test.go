package dp

// LatticeOf returns the spacing and the scale of the mechanism's releases of d coordinates.
func LatticeOf(m *Mechanism, d int) (spacing float64, scale uint64) {
	l := m.lattice(d)
	return l.spacing, l.scale
}
