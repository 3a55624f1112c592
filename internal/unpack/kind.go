package unpack

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"regexp"
	"slices"
	"strings"
)

// Kind is the kind of a file, as text for messages.
type Kind string

// These are the kinds that have names in this program. Unknown includes text.
const (
	Unknown Kind = ""
	Array   Kind = "an array of NumPy (.npy)"
	Archive Kind = "an archive of NumPy (.npz)"
	Zip     Kind = "a zip archive" // without arrays
	IDX     Kind = "an IDX file"
	Binary  Kind = "a binary file"
)

const (
	pickle      Kind = "a pickle of Python"
	arff        Kind = "an ARFF file"
	jsonText    Kind = "JSON"
	records     Kind = "a file of TensorFlow (TFRecord)"
	safetensors Kind = "a safetensors file"
)

// These are ways out of kinds of text that begin in several ways.
const (
	weka  = `sed '1,/^@data/Id; /^%/d' FILE > FILE.csv writes the rows, for --no-header; the @attribute lines name the columns`
	lines = `pandas.read_json("FILE").to_csv("FILE.csv", index=False) writes a CSV file, with lines=True for an object in each line`
	stata = `pandas.read_stata("FILE").to_csv("FILE.csv", index=False) writes a CSV file`
	spss  = `pandas.read_spss("FILE").to_csv("FILE.csv", index=False) writes a CSV file`
	rdata = `load("FILE") and write.csv(name, "FILE.csv", row.names=FALSE) write a CSV file`
	page  = "download the file that the page links to"
)

// known lists other kinds by their first bytes, and how to get a file that this program reads.
var known = []struct {
	magic  string
	kind   Kind
	advice string
}{
	{"\x89HDF\r\n\x1a\n", "an HDF5 file", `f = h5py.File("FILE"); np.savez("FILE.npz", x=np.array(f["x"]), y=np.array(f["y"])) ` +
		`saves its arrays; pandas.read_hdf("FILE").to_csv("FILE.csv", index=False) writes a table of pandas as a CSV file`},
	{"PAR1", "a Parquet file", `pandas.read_parquet("FILE").to_csv("FILE.csv", index=False) writes a CSV file`},
	{"ARROW1", "an Arrow file", `pandas.read_feather("FILE").to_csv("FILE.csv", index=False) writes a CSV file`},
	{"\xff\xff\xff\xff", "a stream of Arrow", `datasets.Dataset.from_file("FILE").to_csv("FILE.csv", index=False) writes a CSV file`},
	{"FEA1", "a Feather file", `pandas.read_feather("FILE").to_csv("FILE.csv", index=False) writes a CSV file`},
	{"ORC", "an ORC file", `pandas.read_orc("FILE").to_csv("FILE.csv", index=False) writes a CSV file`},
	{"Obj\x01", "an Avro file", "write it as a CSV file"},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel file (.xls)", "save the sheet as CSV"},
	{strings.Repeat("\x00", 12) + "\xc2\xea\x81\x60", "a SAS file (.sas7bdat)", `pandas.read_sas("FILE", format="sas7bdat", ` +
		`encoding="utf-8").to_csv("FILE.csv", index=False) writes a CSV file`},
	{"HEADER RECORD*******", "a SAS file (.xpt)", `pandas.read_sas("FILE", format="xport").to_csv("FILE.csv", index=False) writes a CSV file`},
	{"<stata_dta>", "a Stata file", stata}, // and of versions before 13, such as pandas writes: version, byte order, 1, 0
	{"\x71\x01\x01\x00", "a Stata file", stata}, {"\x72\x01\x01\x00", "a Stata file", stata}, {"\x73\x01\x01\x00", "a Stata file", stata},
	{"\x71\x02\x01\x00", "a Stata file", stata}, {"\x72\x02\x01\x00", "a Stata file", stata}, {"\x73\x02\x01\x00", "a Stata file", stata},
	{"$FL2@(#)", "an SPSS file", spss}, {"$FL3@(#)", "an SPSS file", spss},
	{"X\n\x00\x00\x00", "a file of R (.rds)", `write.csv(readRDS("FILE"), "FILE.csv", row.names=FALSE) writes a CSV file`},
	{"RDX2\n", "a file of R (.RData)", rdata}, {"RDX3\n", "a file of R (.RData)", rdata},
	{"SQLite format 3\x00", "an SQLite database", `sqlite3 -header -csv FILE "SELECT * FROM table" > FILE.csv writes a table`},
	{"MATLAB 5.0 MAT-file", "a MATLAB file", `m = scipy.io.loadmat("FILE"); np.savez("FILE.npz", x=m["X"], y=m["y"]) saves its ` +
		`arrays (for SVHN, x=m["X"].transpose(3, 0, 1, 2))`},
	{"MATLAB 7.3 MAT-file", "a MATLAB file of version 7.3", `m = h5py.File("FILE"); np.savez("FILE.npz", x=np.array(m["X"]).T, ` +
		`y=np.array(m["y"]).T) saves its arrays`},
	{"\x89PNG\r\n\x1a\n", "a PNG picture", `np.savez("FILE.npz", x=images, y=labels) saves many pictures as N×H×W×C`},
	{"\xff\xd8\xff", "a JPEG picture", `np.savez("FILE.npz", x=images, y=labels) saves many pictures as N×H×W×C`},
	{"%PDF-", "a PDF file", "write the table as a CSV file"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x FILE unpacks it"},
	{"Rar!\x1a\x07", "a RAR archive", "unrar x FILE unpacks it"},
	{"\x04\x22\x4d\x18", "a file compressed by lz4", "lz4 -d FILE unpacks it"},
	{"\x1f\x9d", "a file compressed by compress", "uncompress FILE unpacks it"},
	{"LZIP", "a file compressed by lzip", "lzip -d FILE unpacks it"},
	{"<!DOCTYPE", "a web page (HTML)", page}, {"<!doctype", "a web page (HTML)", page}, {"<html", "a web page (HTML)", page},
	{"<?xml", "an XML file", "write the data as a CSV file"},
	{"version https://git-lfs", "a pointer of Git LFS", "git lfs pull downloads the file itself"},
	// Reader has decompressed these, unless they are compressed twice.
	{"\x1f\x8b", "a file compressed by gzip", "gunzip FILE unpacks it"},
	{"BZh", "a file compressed by bzip2", "bunzip2 FILE unpacks it"},
	{"\xfd7zXZ\x00", "a file compressed by xz", "xz -d FILE unpacks it"},
	{"\x28\xb5\x2f\xfd", "a file compressed by zstd", "zstd -d FILE unpacks it"},
}

// zipped lists the kinds of zip archives by what the name of the first file in them has.
var zipped = []struct {
	part   string
	kind   Kind
	advice string
}{
	{".npy", Archive, ""},
	{"data.pkl", "a PyTorch file", `np.savez("FILE.npz", x=features.numpy(), y=labels.numpy()) saves its tensors`},
	{"[Content_Types].xml", "an Excel file (.xlsx)", "save the sheet as CSV"},
	{"xl/", "an Excel file (.xlsx)", "save the sheet as CSV"},
	{"mimetype", "an OpenDocument file", "save the sheet as CSV"},
	{"", Zip, "unzip FILE unpacks it"},
}

// advices says how to get a file that this program reads, for kinds that are not found by a table.
var advices = map[Kind]string{
	Array:           "give the file as it is, not compressed, with a name that ends in .npy",
	Archive:         "give the file as it is, not compressed, with a name that ends in .npz",
	IDX:             "give the images of an IDX pair, with the file of their labels in the same folder",
	Binary:          "write the data as CSV, LIBSVM or .npz (text in UTF-16 must be UTF-8)",
	arff:            weka,
	jsonText:        lines,
	pickle:          `this program never executes one: np.savez("FILE.npz", x=features, y=labels) saves arrays, and to_csv("FILE.csv", index=False) a table of pandas`,
	records:         `np.savez("FILE.npz", x=features, y=labels) saves the arrays that tf.data.TFRecordDataset("FILE") gives`,
	safetensors:     `f = safetensors.numpy.load_file("FILE"); np.savez("FILE.npz", x=f["x"], y=f["y"]) saves its arrays`,
	"a tar archive": "tar -xf FILE unpacks it",
}

// Advice returns one line that says how to turn a file of this kind into one that this program reads.
func (k Kind) Advice() string {
	if a, ok := advices[k]; ok {
		return a
	}
	for _, f := range known {
		if f.kind == k {
			return f.advice
		}
	}
	for _, f := range zipped {
		if f.kind == k {
			return f.advice
		}
	}
	return advices[Binary]
}

// Recognise returns the kind of a file by its first 512 bytes, or by all bytes of a shorter file. It returns Unknown
// for text.
func Recognise(start []byte) Kind {
	has := func(magic string) bool { return bytes.HasPrefix(start, []byte(magic)) }
	switch {
	case has("\x93NUMPY"):
		return Array
	case has("PK\x03\x04"), has("PK\x05\x06"):
		return zipKind(start)
	case isIDX(start):
		return IDX
	case isPickle(start):
		return pickle
	case isTFRecord(start):
		return records
	case isSafetensors(start):
		return safetensors
	case len(start) > 262 && bytes.HasPrefix(start[257:], []byte("ustar")):
		return "a tar archive"
	case isARFF(start):
		return arff
	case startOfJSON.Match(start):
		return jsonText
	}
	for _, f := range known {
		if has(f.magic) {
			return f.kind
		}
	}
	if !has("\xff\xfe") && !has("\xfe\xff") && slices.ContainsFunc(start, isControl) {
		return Binary // other readers name the byte order marks of UTF-16
	}
	return Unknown
}

// startOfJSON matches the beginning of an object or of an array of objects.
var startOfJSON = regexp.MustCompile(`^\s*(\[\s*)?{\s*"`)

// isARFF reports whether text begins as an ARFF file, which may have comments and empty lines first.
func isARFF(start []byte) bool {
	for line := range bytes.Lines(start) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '%' {
			return len(line) > 9 && bytes.EqualFold(line[:9], []byte("@relation"))
		}
	}
	return false
}

// isControl reports whether a byte is a control character that text does not have. Texts may have
// escapes, and readers refuse them with the place.
func isControl(c byte) bool { return c < '\t' || c > '\r' && c < ' ' && c != '\x1b' }

// zipHeader is the size of the header before the name of a file in a zip archive.
const zipHeader = 30

// zipKind returns the kind of a zip archive by the name of the first file, which is in its header:
// APPNOTE.TXT of PKWARE, section 4.3.7.
func zipKind(start []byte) Kind {
	name := ""
	if len(start) > zipHeader {
		size := int(binary.LittleEndian.Uint16(start[26:]))
		name = string(start[zipHeader:min(len(start), zipHeader+size)])
	}
	for _, f := range zipped {
		if strings.Contains(name, f.part) {
			return f.kind
		}
	}
	return Unknown
}

// isIDX reports whether a file begins as the IDX format: two bytes 0, a type of elements and a number
// of dimensions.
func isIDX(start []byte) bool {
	return len(start) >= 8 && start[0] == 0 && start[1] == 0 && bytes.IndexByte([]byte{8, 9, 11, 12, 13, 14}, start[2]) >= 0 &&
		start[3] >= 1 && start[3] <= 8
}

// isTFRecord reports whether a file begins with the length of a record, 8 bytes, and the masked CRC-32C of this length
// (TFRecords format details, in the guide of TensorFlow).
func isTFRecord(start []byte) bool {
	if len(start) < 12 {
		return false
	}
	crc := crc32.Checksum(start[:8], crc32.MakeTable(crc32.Castagnoli))
	return binary.LittleEndian.Uint32(start[8:]) == (crc>>15|crc<<17)+0xa282ead8
}

// isSafetensors reports whether a file begins with the length of a header, 8 bytes, and the header's JSON.
func isSafetensors(start []byte) bool {
	return len(start) > 10 && start[5] == 0 && start[6] == 0 && start[7] == 0 && string(start[8:10]) == `{"`
}

// isPickle reports whether a file begins as a pickle: that of protocol 2 or later begins with PROTO and
// its number, and those of protocols 0 and 1 with a MARK or the name of a module.
func isPickle(start []byte) bool {
	if len(start) < 2 {
		return false
	}
	if start[0] == 0x80 {
		return start[1] >= 2 && start[1] <= 9
	}
	for _, magic := range []string{"(dp", "(lp", "(i__main__", "cnumpy", "ccopy_reg\n", "c__builtin__\n", "ccollections\n",
		"cpandas", "]q", "}q"} {
		if bytes.HasPrefix(start, []byte(magic)) {
			return true
		}
	}
	return false
}
