package train

import (
	"testing"

	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/models/modeltest"
)

// The registry says correctly which models use matrix tiles for some shape. Keys of cells and checkpoints
// depend on it.
func TestTiledModelsAreThoseOfTheRegistry(t *testing.T) {
	for _, k := range modelKinds {
		if !k.network {
			continue
		}
		found, tiled := false, false
		for _, shape := range [][3]int{{1, 28, 28}, {3, 32, 32}} {
			m, err := k.make(modeltest.Images(20, shape[0], shape[1], shape[2], 10), 0)
			if err != nil {
				continue
			}
			found = true
			tiled = tiled || m.(*models.Network).Net().Tiled()
		}
		if tiled != k.tiled {
			t.Errorf("%s: tiled %v, the registry says %v", k.name, tiled, k.tiled)
		}
		if !found {
			t.Errorf("%s takes no images", k.name)
		}
	}
}

// The class of kernels is part of the identity if and only if the bits depend on it.
func TestKernelsAreNamedWhereBitsDependOnThem(t *testing.T) {
	for _, class := range f32.Classes() {
		restore, err := f32.Use(class)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range modelKinds {
			want := ""
			if class == cpu.Portable && k.network || class == cpu.AMX && k.tiled {
				want = class.String()
			}
			if got := (Spec{Model: k.name}).Kernels(); got != want {
				t.Errorf("%s, %v: %q, want %q", k.name, class, got, want)
			}
		}
		restore()
	}
}
