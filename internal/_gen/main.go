// Command _gen writes the assembly of the packages next to it, and the Go
// declarations of its functions: NAME_amd64.s and NAME_amd64.go with avo, and
// NAME_arm64.s and NAME_arm64.go by its own means, in the folder of the package,
// for every generator named, or for all.
//
//	go run . [-out folder] [name ...]
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// root is the folder that holds the packages' folders.
const root = "../.."

// generators are the files that can be written, each into a package's folder and
// by a function in the file of its name.
var generators = map[string]struct {
	folder   string
	generate func(*kernels)
	arm64    func(*neon) // nil if there is none
}{
	"contract":  {"internal/f32", contract, neonContract},
	"gauss":     {"internal/f32", gauss, neonGauss},
	"keystream": {"rng", keystream, neonKeystream},
	"rows":      {"internal/f32", rows, neonRows},
	"split":     {"internal/f32", split, nil},
	"state":     {"internal/cpu", state, nil},
	"vector":    {"internal/f32", vector, neonVector},
}

func main() {
	flags := flag.NewFlagSet("_gen", flag.ExitOnError) // avo fills the common one
	out := flags.String("out", root, "folder to write to, in folders of packages")
	flags.Parse(os.Args[1:])
	names := flags.Args()
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(generators))
	}
	for _, name := range names {
		if err := write(*out, name); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func write(out, name string) error {
	generator, ok := generators[name]
	if !ok {
		return fmt.Errorf("no such generator")
	}
	pkg, err := declarations(generator.folder)
	if err != nil {
		return err
	}
	k := &kernels{Context: build.NewContext(), pkg: pkg}
	k.ConstraintExpr("!noasm")
	generator.generate(k)
	file, err := k.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	folder := filepath.Join(out, generator.folder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	config := printer.Config{Argv: []string{"go", "run", ".", name}, Pkg: path.Base(generator.folder)}
	for suffix, printed := range map[string]printer.Builder{"_amd64.s": printer.NewGoAsm,
		"_amd64.go": printer.NewStubs} {
		text, err := printed(config).Print(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name+suffix), text, 0o644); err != nil {
			return err
		}
	}
	if generator.arm64 == nil {
		return nil
	}
	n := &neon{pkg: pkg}
	generator.arm64(n)
	return n.writeTo(folder, name)
}

// kernels is a file of functions under construction.
type kernels struct {
	*build.Context
	pkg *types.Package
}

// kernel starts a function: its signature is written as in its package, whose
// types it may use, and its arguments are read by Param and Dereference.
func (k *kernels) kernel(name, signature, doc string) {
	k.Function(name)
	k.Doc(strings.Split(name+" "+doc, "\n")...)
	k.Pragma("noescape")
	k.Attributes(attr.NOSPLIT)
	value, err := types.Eval(token.NewFileSet(), k.pkg, token.NoPos, signature)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	k.Signature(gotypes.NewSignature(k.pkg, value.Type.(*types.Signature)))
}

// readOnly places numbers next to the code.
func readOnly[T operand.Constant](k *kernels, name string, values []T) operand.Mem {
	table := k.StaticGlobal(name)
	k.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, v := range values {
		k.AddDatum(i*v.Bytes(), v)
	}
	return table
}

// declarations reads the types of the package in the folder. Its functions are
// not looked into, since they may call what is yet to be generated.
func declarations(folder string) (*types.Package, error) {
	paths, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	name := path.Base(folder)
	for _, source := range paths {
		file, err := parser.ParseFile(set, source, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if file.Name.Name == name {
			files = append(files, file)
		}
	}
	config := types.Config{IgnoreFuncBodies: true, Error: func(error) {}, Sizes: types.SizesFor("gc", "amd64")}
	pkg, _ := config.Check(name, set, files, nil) // imports and duplicates by build tag are not ours to judge
	return pkg, nil
}
