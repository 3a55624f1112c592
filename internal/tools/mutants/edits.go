//go:build unix

package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// edit replaces the text of a node, or of an operator, in a file.
type edit struct {
	kind     string
	from, to token.Pos
	text     string
}

// editor collects the possible faults in a file of one package.
type editor struct {
	pkg   *types.Package
	info  *types.Info
	text  func(ast.Node) string
	edits []edit
}

func (e *editor) add(kind string, from, to token.Pos, text string) {
	e.edits = append(e.edits, edit{kind, from, to, text})
}

func (e *editor) replace(kind string, n ast.Node, text string) { e.add(kind, n.Pos(), n.End(), text) }

// swap exchanges two neighbouring nodes.
func (e *editor) swap(kind string, a, b ast.Node) {
	if x, y := e.text(a), e.text(b); x != y {
		e.add(kind, a.Pos(), b.End(), y+", "+x)
	}
}

// declaration collects the edits of a declaration.
func (e *editor) declaration(d ast.Decl) {
	if strings.HasPrefix(nameOf(d)[strings.LastIndex(nameOf(d), ".")+1:], "assert") {
		return // without the tag invariants it is compiled to nothing
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.StructType, *ast.ArrayType, *ast.LabeledStmt:
			return false
		case *ast.CallExpr:
			return e.call(n)
		case *ast.BinaryExpr:
			e.binary(n)
		case *ast.UnaryExpr:
			e.unary(n)
		case *ast.IfStmt:
			e.condition(n.Cond)
		case *ast.AssignStmt:
			e.assignment(n)
		case *ast.IncDecStmt:
			e.replace("dropped statement", n, "")
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok && !e.isCall(call, "panic", "close", "delete") {
				e.replace("dropped statement", n, "")
			}
		case *ast.BasicLit:
			e.literal(n)
		case *ast.ReturnStmt:
			if last := len(n.Results) - 1; last > 0 && e.isError(n.Results[last]) {
				return false // callers ignore a value that is returned with an error
			}
			e.result(n)
		case *ast.BranchStmt:
			e.branch(n)
		case *ast.SelectorExpr:
			e.field(n)
		case *ast.CompositeLit:
			e.row(n)
		}
		return true
	})
	if f, ok := d.(*ast.FuncDecl); ok {
		e.variables(f)
	}
}

// numeric reports whether an expression is a number whose value the compiler does not know.
func (e *editor) numeric(x ast.Expr) bool {
	tv := e.info.Types[x]
	if tv.Type == nil {
		return false
	}
	basic, ok := tv.Type.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsNumeric != 0
}

// speaksOfError reports whether an expression uses a value of type error. The faults do not concern
// the handling of errors.
func (e *editor) speaksOfError(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		if of, ok := n.(ast.Expr); ok {
			if t := e.info.TypeOf(of); t != nil && types.Identical(t, types.Universe.Lookup("error").Type()) {
				found = true
			}
		}
		return !found
	})
	return found
}

var (
	wrongSign = map[token.Token]token.Token{token.ADD: token.SUB, token.SUB: token.ADD,
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN}
	wrongOp = map[token.Token]token.Token{token.MUL: token.QUO, token.QUO: token.MUL,
		token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN}
	boundary = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ,
		token.GEQ: token.GTR}
	negated   = map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL}
	connected = map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND}
)

func (e *editor) binary(n *ast.BinaryExpr) {
	operator := func(kind string, of map[token.Token]token.Token) {
		if other, ok := of[n.Op]; ok {
			e.add(kind, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.String())
		}
	}
	if e.numeric(n) {
		operator("wrong sign", wrongSign)
		operator("wrong operation", wrongOp)
		if one, ok := n.Y.(*ast.BasicLit); ok && one.Value == "1" && (n.Op == token.ADD || n.Op == token.SUB) {
			e.add("off by one", n.X.End(), n.End(), "")
		}
	}
	operator("boundary", boundary)
	operator("wrong connective", connected)
	if !e.speaksOfError(n) {
		operator("negated condition", negated)
	}
}

func (e *editor) unary(n *ast.UnaryExpr) {
	switch {
	case n.Op == token.SUB && e.numeric(n):
		e.add("wrong sign", n.OpPos, n.X.Pos(), "")
	case n.Op == token.NOT:
		e.add("negated condition", n.OpPos, n.X.Pos(), "")
	}
}

func (e *editor) condition(n ast.Expr) {
	if e.speaksOfError(n) || e.info.Types[n].Value != nil {
		return // a constant condition depends on build tags, so leave it
	}
	e.replace("dropped branch", n, "false && ("+e.text(n)+")")
	e.replace("negated condition", n, "!("+e.text(n)+")")
}

func (e *editor) assignment(n *ast.AssignStmt) {
	if len(n.Lhs) != 1 || n.Tok == token.DEFINE {
		return
	}
	if n.Tok == token.ASSIGN && !e.speaksOfError(n.Lhs[0]) {
		e.replace("dropped statement", n, "_ = "+e.text(n.Rhs[0]))
		return
	}
	if !e.numeric(n.Lhs[0]) {
		return
	}
	for kind, of := range map[string]map[token.Token]token.Token{"wrong sign": wrongSign, "wrong operation": wrongOp} {
		if other, ok := of[n.Tok]; ok {
			e.add(kind, n.TokPos, n.TokPos+token.Pos(len(n.Tok.String())), other.String())
		}
	}
}

func (e *editor) literal(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		e.replace("off by one", n, "("+n.Value+" + 1)")
	case token.FLOAT:
		if constant.Sign(e.info.Types[n].Value) == 0 {
			return
		}
		e.replace("wrong constant", n, "(2 * "+n.Value+")")
	}
}

func (e *editor) result(n *ast.ReturnStmt) {
	for _, x := range n.Results {
		if id, ok := x.(*ast.Ident); ok && e.info.Types[x].Value != nil &&
			e.info.Types[x].Value.Kind() == constant.Bool {
			e.replace("wrong constant", id, map[string]string{"true": "false", "false": "true"}[id.Name])
		}
	}
}

func (e *editor) branch(n *ast.BranchStmt) {
	if n.Label != nil {
		return
	}
	if other, ok := map[token.Token]string{token.CONTINUE: "break", token.BREAK: "continue"}[n.Tok]; ok {
		e.replace("wrong branch", n, other)
	}
}

// field replaces a field by another one of the same struct and type.
func (e *editor) field(n *ast.SelectorExpr) {
	selection := e.info.Selections[n]
	if selection == nil || selection.Kind() != types.FieldVal {
		return
	}
	t := selection.Recv().Underlying()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	s, ok := t.(*types.Struct)
	if !ok {
		return
	}
	for f := range s.Fields() {
		if f.Name() != n.Sel.Name && types.Identical(f.Type(), selection.Type()) && (f.Exported() || f.Pkg() == e.pkg) {
			e.replace("wrong field", n.Sel, f.Name())
		}
	}
}

// row exchanges neighbouring values of a list.
func (e *editor) row(n *ast.CompositeLit) {
	if t := e.info.TypeOf(n); t != nil && t.String() == "[]error" {
		return // the order of joined errors does not matter
	}
	for i := 1; i < len(n.Elts); i++ {
		a, b := n.Elts[i-1], n.Elts[i]
		if _, keyed := a.(*ast.KeyValueExpr); !keyed && e.alike(a, b) {
			e.swap("wrong column", a, b)
		}
	}
}

// alike reports whether two expressions have the same type.
func (e *editor) alike(a, b ast.Expr) bool {
	x, y := e.info.TypeOf(a), e.info.TypeOf(b)
	return x != nil && y != nil && types.Identical(x, y)
}

// isCall reports whether a call is to one of these functions, named with their package.
func (e *editor) isCall(n *ast.CallExpr, names ...string) bool {
	return slices.Contains(names, e.text(n.Fun))
}

// isError reports whether an expression creates an error.
func (e *editor) isError(x ast.Expr) bool {
	n, ok := x.(*ast.CallExpr)
	return ok && e.isCall(n, "fmt.Errorf", "errors.New")
}

// wrongFunctions lists functions that can be mistaken for each other.
var wrongFunctions = map[string]string{
	"min": "max", "max": "min", "math.Min": "math.Max", "math.Max": "math.Min", "math.Ceil": "math.Floor",
	"math.Floor": "math.Ceil", "math.Log1p": "math.Log", "math.Expm1": "math.Exp", "math.Sqrt": "math.Abs",
	"slices.Min": "slices.Max", "slices.Max": "slices.Min",
}

// call collects the faults of a call. It reports whether to look for faults in its arguments too.
func (e *editor) call(n *ast.CallExpr) bool {
	if e.isError(n) || e.isCall(n, "panic", "make", "slices.Grow", "append") {
		return e.isCall(n, "append")
	}
	if other, ok := wrongFunctions[e.text(n.Fun)]; ok {
		e.replace("wrong function", n.Fun, other)
		return true
	}
	if e.isCall(n, "errors.Join", "math.Hypot") {
		return true // the order does not matter
	}
	for i := 1; i < len(n.Args); i++ {
		if e.alike(n.Args[i-1], n.Args[i]) {
			e.swap("swapped arguments", n.Args[i-1], n.Args[i])
		}
	}
	return true
}

// variables replaces a variable by another one of the same function and type.
func (e *editor) variables(f *ast.FuncDecl) {
	var known []*types.Var
	ast.Inspect(f, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if v, ok := e.info.Defs[id].(*types.Var); ok && !v.IsField() && v.Name() != "_" {
			known = append(known, v)
		}
		v, ok := e.info.Uses[id].(*types.Var)
		if !ok || v.IsField() || v.Parent() == e.pkg.Scope() || v.Pkg() != e.pkg {
			return true
		}
		for _, other := range known {
			if other.Name() != v.Name() && types.Identical(other.Type(), v.Type()) {
				e.replace("wrong variable", id, other.Name())
			}
		}
		return true
	})
}
