//go:build !noasm

#include "textflag.h"

// func axpy(alpha float32, x, y []float32)
// See axpyPortable. The lengths are equal.
TEXT ·axpy(SB), NOSPLIT, $0-56
	MOVSS  alpha+0(FP), X0
	SHUFPS $0, X0, X0
	MOVQ   x_base+8(FP), SI
	MOVQ   x_len+16(FP), CX
	MOVQ   y_base+32(FP), DI
	MOVQ   CX, BX
	SHRQ   $3, BX
	JZ     single

eight:
	MOVUPS (SI), X1
	MOVUPS 16(SI), X2
	MULPS  X0, X1
	MULPS  X0, X2
	MOVUPS (DI), X3
	MOVUPS 16(DI), X4
	ADDPS  X1, X3
	ADDPS  X2, X4
	MOVUPS X3, (DI)
	MOVUPS X4, 16(DI)
	ADDQ   $32, SI
	ADDQ   $32, DI
	DECQ   BX
	JNZ    eight

single:
	ANDQ $7, CX
	JZ   done

one:
	MOVSS (SI), X1
	MULSS X0, X1
	ADDSS (DI), X1
	MOVSS X1, (DI)
	ADDQ  $4, SI
	ADDQ  $4, DI
	DECQ  CX
	JNZ   one

done:
	RET

// func sumSquares4(x []float32) float64
// See sumSquares4Portable: X0 holds the sums 0 and 1, X1 the sums 2 and 3.
TEXT ·sumSquares4(SB), NOSPLIT, $0-32
	MOVQ  x_base+0(FP), SI
	MOVQ  x_len+8(FP), CX
	XORPS X0, X0
	XORPS X1, X1
	SHRQ  $2, CX
	JZ    add

four:
	CVTPS2PD (SI), X2
	CVTPS2PD 8(SI), X3
	MULPD    X2, X2
	MULPD    X3, X3
	ADDPD    X2, X0
	ADDPD    X3, X1
	ADDQ     $16, SI
	DECQ     CX
	JNZ      four

add:
	MOVAPS   X0, X2
	UNPCKHPD X2, X2
	ADDSD    X2, X0
	MOVAPS   X1, X2
	UNPCKHPD X2, X2
	ADDSD    X2, X1
	ADDSD    X1, X0
	MOVSD    X0, ret+24(FP)
	RET
