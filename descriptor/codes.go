package descriptor

// The codes of findings. They are stable: a code keeps its meaning, a retired one is not used again.
const (
	codeTooLarge      = "KIT0001"
	codeLarge         = "KIT0002"
	codeSyntax        = "KIT0003"
	codeManyDocuments = "KIT0004"
	codeNotMapping    = "KIT0005"
	codeOldSpec       = "KIT0006"
	codeSchemaVersion = "KIT0007"
	codeTooDeep       = "KIT0008"
	codeAliasBudget   = "KIT0009"
	codeCycle         = "KIT0010"
	codeMerge         = "KIT0011"

	codeUnknownKey   = "KIT0101"
	codeDuplicateKey = "KIT0102"
	codeKind         = "KIT0103"
	codeKey          = "KIT0104"
	codeNull         = "KIT0105"
	codeNullItem     = "KIT0106"
	codeDate         = "KIT0107"
	codeEmpty        = "KIT0108"

	codeKindField  = "KIT0201"
	codeIconURL    = "KIT0202"
	codeVersion    = "KIT0203"
	codeDockerfile = "KIT0204"
	codeRecipes    = "KIT0205"

	codeProvide    = "KIT0301"
	codeRelation   = "KIT0302"
	codeConflict   = "KIT0303"
	codeName       = "KIT0304"
	codeNamespace  = "KIT0305"
	codeUnsatisfy  = "KIT0306"
	codeReserved   = "KIT0307"
	codeLiteral    = "KIT0308"
	codeUnstated   = "KIT0309"
	codeBadVersion = "KIT0310"

	codeArgName     = "KIT0401"
	codeArgDefault  = "KIT0402"
	codeArgChoice   = "KIT0403"
	codeArgPattern  = "KIT0404"
	codeArgTarget   = "KIT0405"
	codeUndeclared  = "KIT0406"
	codeArgUnknown  = "KIT0407"
	codeArgMissing  = "KIT0408"
	codeArgValue    = "KIT0409"
	codeArgPhase    = "KIT0410"
	codeArgCollide  = "KIT0411"
	codeArgOpener   = "KIT0412"
	codeArgDefaults = "KIT0413"
	codeArgShared   = "KIT0414"

	codeKitsEmpty  = "KIT0501"
	codeKitRef     = "KIT0502"
	codeKitDigest  = "KIT0503"
	codeKitArg     = "KIT0504"
	codeKitTwice   = "KIT0505"
	codeKitPhase   = "KIT0506"
	codeNotForSets = "KIT0507"
	codeComment    = "KIT0508"

	codeType       = "KIT0601"
	codeNoConfig   = "KIT0602"
	codeSingleton  = "KIT0603"
	codeTwice      = "KIT0604"
	codeInstance   = "KIT0605"
	codeGroup      = "KIT0606"
	codeSource     = "KIT0607"
	codeEnvInKey   = "KIT0608"
	codeUnknown    = "KIT0609"
	codeForbidden  = "KIT0610"
	codeInject     = "KIT0611"
	codeAgree      = "KIT0612"
	codeShared     = "KIT0613"
	codeEntryIndex = "KIT0614"

	codeMissing  = "KIT0701"
	codeValue    = "KIT0702"
	codeChoice   = "KIT0703"
	codePath     = "KIT0704"
	codeRepeat   = "KIT0705"
	codeTogether = "KIT0706"
	codeRange    = "KIT0707"

	codeBuildRef   = "KIT0801"
	codeOpenRef    = "KIT0802"
	codeOpenGroup  = "KIT0803"
	codeSetKind    = "KIT0804"
	codeUnpinned   = "KIT0805"
	codeSkillPath  = "KIT0806"
	codeReencode   = "KIT0807"
	codeAnchorList = "KIT0808"

	codeHost      = "KIT0901"
	codeNothing   = "KIT0902"
	codeMalformed = "KIT0903"
)

// Rule is one row of the table of codes.
type Rule struct {
	Code    string // "KIT0301"
	Meaning string // one line
}

// Rules lists every code that a Finding of this package can carry, sorted.
func Rules() []Rule { return append([]Rule(nil), rules...) }

var rules = []Rule{
	{codeTooLarge, "the descriptor is larger than 512 KiB"},
	{codeLarge, "the descriptor is larger than 64 KiB"},
	{codeSyntax, "the text is not YAML, or not UTF-8"},
	{codeManyDocuments, "a second YAML document in one file is ignored"},
	{codeNotMapping, "the document is no mapping"},
	{codeOldSpec, "the document is a spec.yaml of kit format 1 or 2"},
	{codeSchemaVersion, "schemaVersion is not 3"},
	{codeTooDeep, "values nest too deeply"},
	{codeAliasBudget, "aliases expand to too much"},
	{codeCycle, "an alias stands inside of its own value"},
	{codeMerge, "a merge key takes something that is no mapping"},

	{codeUnknownKey, "a key that the format does not have"},
	{codeDuplicateKey, "a key stands twice in one mapping"},
	{codeKind, "a value is of the wrong sort: text, number, boolean, list or mapping"},
	{codeKey, "a key is not text"},
	{codeNull, "a null stands where a value is meant"},
	{codeNullItem, "a null in a list is dropped"},
	{codeDate, "unquoted text that YAML takes for a date"},
	{codeEmpty, "an empty value that counts as absent"},

	{codeKindField, "kind is none of workload, mixin and set"},
	{codeIconURL, "iconUrl is not an absolute https URL"},
	{codeVersion, "version does not follow the version grammar"},
	{codeDockerfile, "dockerfile leaves the descriptor's directory"},
	{codeRecipes, "content comes from more than one of build, dockerfile and kits"},

	{codeProvide, "an entry of provides is neither a name nor name@version"},
	{codeRelation, "a relation is neither a name nor a name with version constraints"},
	{codeConflict, "an entry of conflicts is not a bare name"},
	{codeName, "a name does not follow the name grammar"},
	{codeNamespace, "a namespace is not a reversed domain name"},
	{codeUnsatisfy, "no version meets the constraints"},
	{codeReserved, "an author claims a package of a distribution's database"},
	{codeLiteral, "an argument reference in a list that must be literal"},
	{codeUnstated, "a published provides entry has no version, and version is not set"},
	{codeBadVersion, "a version in provides or in a constraint does not follow the grammar"},

	{codeArgName, "an argument's name does not follow the identifier grammar"},
	{codeArgDefault, "an argument has a default and is required"},
	{codeArgChoice, "an argument has an enum and a pattern"},
	{codeArgPattern, "an argument's pattern does not compile"},
	{codeArgTarget, "an argument's env or buildArg is ill-formed, or both are set"},
	{codeUndeclared, "a reference names an argument that is not declared"},
	{codeArgUnknown, "a value was given for an argument that is not declared"},
	{codeArgMissing, "an argument that is needed has no value"},
	{codeArgValue, "an argument's value fails its enum or pattern"},
	{codeArgPhase, "an argument's value was given in the wrong phase"},
	{codeArgCollide, "two keys of one mapping become equal by expansion"},
	{codeArgOpener, "an argument's value holds or forms a placeholder"},
	{codeArgDefaults, "an argument's default fails its own enum or pattern"},
	{codeArgShared, "two arguments feed one build argument"},

	{codeKitsEmpty, "a list of kits is empty or missing"},
	{codeKitRef, "a kit reference is not an image reference"},
	{codeKitDigest, "a kit's digest is ill-formed or contradicts its reference"},
	{codeKitArg, "an argument of a listed kit is ill-formed"},
	{codeKitTwice, "a kit is listed twice"},
	{codeKitPhase, "a kit reference uses an argument that is resolved after the build"},
	{codeNotForSets, "a set has a recipe of its own"},
	{codeComment, "a descriptor in a comment names other content"},

	{codeType, "a capability's type does not follow the type grammar"},
	{codeNoConfig, "a type that takes no config has one"},
	{codeSingleton, "a type that may stand once stands twice"},
	{codeTwice, "two capabilities are identical"},
	{codeInstance, "two capabilities ask for the same thing"},
	{codeGroup, "a group is ill-formed"},
	{codeSource, "a source has no path"},
	{codeEnvInKey, "an environment reference in a key"},
	{codeUnknown, "a type of the platform's namespace that this program does not know"},
	{codeForbidden, "a capability that this kind of kit must not ask for"},
	{codeInject, "a credential is injected into a host that the network policy does not allow"},
	{codeAgree, "two capabilities state one thing differently"},
	{codeShared, "a volume and a host mount share a path"},
	{codeEntryIndex, "a capability that a caller named does not exist"},

	{codeMissing, "a config lacks something that it must have"},
	{codeValue, "a value of a config does not follow its grammar"},
	{codeChoice, "a value of a config is none of those allowed"},
	{codePath, "a path of a config is not absolute or not canonical"},
	{codeRepeat, "a list of a config repeats an item"},
	{codeTogether, "fields of a config that exclude or need each other"},
	{codeRange, "a number of a config is out of range"},

	{codeBuildRef, "a published descriptor still holds a build-phase reference"},
	{codeOpenRef, "an effective descriptor still holds a reference"},
	{codeOpenGroup, "an effective descriptor still holds a group"},
	{codeSetKind, "a published descriptor has kind set"},
	{codeUnpinned, "a published descriptor lists a kit without digest"},
	{codeSkillPath, "a skill's path holds a reference"},
	{codeReencode, "the document cannot be written again without loss"},
	{codeAnchorList, "a list that must be extended is shared by an anchor"},

	{codeHost, "a host pattern that matches nothing useful"},
	{codeNothing, "a config that asks for nothing"},
	{codeMalformed, "text that looks like a reference but is none"},
}
