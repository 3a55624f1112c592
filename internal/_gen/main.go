// Command _gen writes the assembly of the packages next to it and the Go declarations of its
// functions: NAME_amd64.s and NAME_amd64.go with avo, and NAME_arm64.s and NAME_arm64.go without
// it. It writes them into the package's folder, for every named generator or for all.
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
	"github.com/mmcloughlin/avo/reg"
)

// root is the parent of the packages' folders.
const root = "../.."

// generators lists the files that can be written, with the package's folder and the function that
// writes the file. The kernels are in the file of the same name, and those for arm64 in neonNAME.go.
var generators = map[string]struct {
	folder   string
	generate func(*kernels)
	arm64    func(*neon) // nil if there is no arm64 file
}{
	"contract":  {"internal/f32", contract, neonContract},
	"gauss":     {"internal/f32", gauss, func(n *neon) { n.twins(normalTwins(nil)) }},
	"keystream": {"rng", keystream, neonKeystream},
	"pairs":     {"internal/f32", pairs, nil},
	"rows":      {"internal/f32", func(k *kernels) { k.twins(rowTwins) }, func(n *neon) { n.twins(rowTwins) }},
	"split":     {"internal/f32", split, nil},
	"state":     {"internal/cpu", state, nil},
	"vector":    {"internal/f32", func(k *kernels) { k.twins(vectorTwins) }, func(n *neon) { n.twins(vectorTwins) }},
}

func main() {
	flags := flag.NewFlagSet("_gen", flag.ExitOnError) // avo adds flags to the common set
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
	encodeBF16(file)
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

// kernels is a file of functions that is being written.
type kernels struct {
	*build.Context
	pkg *types.Package
}

// kernel begins a function. Its signature is written as in its package and may use the package's
// types. Param and Dereference read its arguments.
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

// base and length load the address and the length of a slice. argument loads another 64-bit
// argument.
func (k *kernels) base(slice string) reg.GPVirtual    { return k.loaded(k.Param(slice).Base()) }
func (k *kernels) length(slice string) reg.GPVirtual  { return k.loaded(k.Param(slice).Len()) }
func (k *kernels) argument(name string) reg.GPVirtual { return k.loaded(k.Param(name)) }

// loaded loads 64 bits of an argument, or of what it points to.
func (k *kernels) loaded(c gotypes.Component) reg.GPVirtual {
	return k.Load(c, k.GP64()).(reg.GPVirtual)
}

// address returns the place of an argument or a result, or of a part of it.
func (k *kernels) address(c gotypes.Component) operand.Mem {
	b, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// end returns from the function.
func (k *kernels) end() {
	k.VZEROUPPER()
	k.RET()
}

// readOnly places a table of numbers next to the code.
func readOnly[T operand.Constant](k *kernels, name string, values []T) operand.Mem {
	table := k.StaticGlobal(name)
	k.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, v := range values {
		k.AddDatum(i*v.Bytes(), v)
	}
	return table
}

// declarations reads the types of the package in the folder. It ignores function bodies, because
// they may call functions that are not generated yet.
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
	pkg, _ := config.Check(name, set, files, nil) // ignore errors from imports and from duplicates under different build tags
	return pkg, nil
}
