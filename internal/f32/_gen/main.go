// Command _gen writes the assembly of package f32, and the Go declarations of
// its functions, with avo: NAME_amd64.s and NAME_amd64.go for every generator
// named, or for all.
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
	"path/filepath"
	"slices"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// generators are the files that can be written, each by a function in the file
// of its name.
var generators = map[string]func(*kernels){
	"contract": contract,
	"gauss":    gauss,
	"vector":   vector,
}

func main() {
	flags := flag.NewFlagSet("_gen", flag.ExitOnError) // avo fills the common one
	out := flags.String("out", "..", "folder to write to")
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

func write(folder, name string) error {
	generate, ok := generators[name]
	if !ok {
		return fmt.Errorf("no such generator")
	}
	pkg, err := declarations("..")
	if err != nil {
		return err
	}
	k := &kernels{Context: build.NewContext(), pkg: pkg}
	k.ConstraintExpr("!noasm")
	generate(k)
	file, err := k.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	config := printer.Config{Argv: []string{"go", "run", ".", name}, Pkg: "f32"}
	for suffix, printed := range map[string]printer.Builder{"_amd64.s": printer.NewGoAsm, "_amd64.go": printer.NewStubs} {
		text, err := printed(config).Print(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name+suffix), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// kernels is a file of functions under construction.
type kernels struct {
	*build.Context
	pkg *types.Package
}

// kernel starts a function: its signature is written as in package f32, whose
// types it may use, and its arguments are read by Param and Dereference.
func (k *kernels) kernel(name, signature, doc string) {
	k.Function(name)
	k.Doc(name + " " + doc)
	k.Pragma("noescape")
	k.Attributes(attr.NOSPLIT)
	value, err := types.Eval(token.NewFileSet(), k.pkg, token.NoPos, signature)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	k.Signature(gotypes.NewSignature(k.pkg, value.Type.(*types.Signature)))
}

// declarations reads the types of the package in the folder. Its functions are
// not looked into, since they may call what is yet to be generated.
func declarations(folder string) (*types.Package, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if file.Name.Name == "f32" {
			files = append(files, file)
		}
	}
	config := types.Config{IgnoreFuncBodies: true, Error: func(error) {}, Sizes: types.SizesFor("gc", "amd64")}
	pkg, _ := config.Check("f32", set, files, nil) // imports and duplicates by build tag are not ours to judge
	return pkg, nil
}
