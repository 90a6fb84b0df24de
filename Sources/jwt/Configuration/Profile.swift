import TokenGeneration

/// Values of options that have a name together, in the configuration file.
struct Profile {
    /// How messages call it.
    let title: String
    let values: [(option: OptionDefinition, text: String)]

    /// Reads a profile.
    ///
    /// - Parameters:
    ///   - object: What the file says of it.
    ///   - name: Its name.
    ///   - file: The file.
    ///   - members: What it may have.
    /// - Throws: ``CommandFailure`` that names the member that is unknown or wrong.
    init(
        _ object: JSONObject,
        name: String,
        in file: ConfigurationFile,
        members: [ProfileMember]
    ) throws(CommandFailure) {
        title = "\(file.path): profile “\(name)”"
        var values: [(OptionDefinition, String)] = []
        for (memberName, value) in object.map({ ($0.name, $0.value) }) {
            guard let member = members.first(where: { $0.definition.longName == memberName }) else {
                throw CommandFailure(.failed, "\(title): \(Self.unknown(memberName, members))")
            }
            do throws(ValueError) {
                for text in try Self.texts(of: value, for: member) {
                    let text = member.isPath ? try file.resolved(text) : text
                    try member.check(text)
                    values.append((member.definition, text))
                }
            } catch {
                throw CommandFailure(.failed, "\(title): \(memberName) \(error.message)")
            }
        }
        self.values = values
    }

    /// The texts that the command line would have for a value; none for a flag that is `false`.
    private static func texts(of value: JSONValue, for member: ProfileMember) throws(ValueError) -> [String] {
        guard member.definition.value != nil else {
            switch value {
            case true: return [""]
            case false: return []
            default: throw ValueError(message: "must be true or false")
            }
        }
        switch value {
        case .string(let text): return [text]
        case .number(let number): return [number.literal]
        case .array(let list) where member.definition.isRepeatable:
            let texts = list.compactMap(\.string)
            guard texts.count == list.count else { throw ValueError(message: "must be a list of texts") }
            return texts
        default:
            throw ValueError(
                message: member.definition.isRepeatable ? "must be a text or a list of texts" : "must be a text"
            )
        }
    }

    /// What is said of a member that there is not.
    private static func unknown(_ name: String, _ members: [ProfileMember]) -> String {
        let names = members.map(\.definition.longName)
        // Somebody may have the secret itself in mind.
        let places = ["\(name)-file", "\(name)-env"].filter(names.contains)
        guard places.isEmpty else {
            return
                "\(name) is no member: a secret stays where it is; \(places.joined(separator: " or ")) names the place"
        }
        let advice =
            Suggestion.nearest(to: name, in: names).map { ", did you mean \($0)?" }
            ?? "; members: " + names.joined(separator: ", ")
        return "unknown member \(name)" + advice
    }
}
