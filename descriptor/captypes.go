package descriptor

// Names of the types that other packages ask for.
const (
	TypeSbx          = platformNamespace + "sbx@1"
	TypeAgentContext = platformNamespace + "agent-context@1"
	TypeAgentSkill   = platformNamespace + "agent-skill@1"
)

// capabilityTypes are the types of the platform's namespace that this package judges; all other types
// are opaque to it. The keys are names without the namespace.
var capabilityTypes map[string]*capabilityType

// The table is filled here and not where it is declared, because hints on misspelt types, and with
// them the functions in the table, read it.
func init() {
	bare := &capabilityType{single: true}
	capabilityTypes = map[string]*capabilityType{
		"network-policy@1":             {single: true, config: networkPolicy1},
		"network-policy@2":             {single: true, config: networkPolicy2},
		"credential@1":                 {config: credential, keys: credentialKeys},
		"lifecycle@1":                  {single: true, config: lifecycle},
		"agent-context@1":              {config: agentContext, keys: agentContextKeys},
		"agent-skills@1":               {config: agentSkills, keys: agentSkillsKeys},
		"agent-skill@1":                {config: agentSkill, keys: agentSkillKeys},
		"agent-sessions@1":             {single: true, config: agentSessions},
		"agent-interactive-sessions@1": {single: true, config: agentInteractiveSessions},
		"acp@1":                        {config: acp, keys: acpKeys},
		"volume@1":                     {config: volume, keys: storageKeys},
		"host-mount@1":                 {config: hostMount, keys: storageKeys},
		"port@1":                       {config: port, keys: portKeys},
		"usb-device@1":                 {config: usbDevice},
		"ssh-agent@1":                  {config: sshAgent, keys: sshAgentKeys},
		"resources@1":                  {single: true, config: resources},
		"privileged@1":                 bare,
		"long-running@1":               bare,
		"git-identity@1":               bare,
		"kit-registry@1":               bare,
		"sbx@1":                        bare,
	}
}
