import TokenGeneration

/// A named set of option values in the configuration file.
struct Profile {
    let values: [(option: OptionDefinition, text: String)]

    /// Creates a profile from the configuration file.
    ///
    /// - Parameters:
    ///   - object: The profile's JSON object.
    ///   - name: The name of the profile.
    ///   - file: The configuration file.
    ///   - members: The members that the profile can have.
    /// - Throws: ``CommandFailure`` with the name of an unknown or invalid member.
    init(
        _ object: JSONObject,
        name: String,
        in file: ConfigurationFile,
        members: [OptionDefinition]
    ) throws(CommandFailure) {
        let title = "\(file.path): profile “\(name)”"
        var values: [(OptionDefinition, String)] = []
        for (memberName, value) in object.map({ ($0.name, $0.value) }) {
            guard let member = members.first(where: { $0.longName == memberName }) else {
                throw CommandFailure(.failed, "\(title): \(Self.unknown(memberName, members))")
            }
            do throws(ValueError) {
                for text in try Self.texts(of: value, for: member) {
                    // A path is relative to the file.
                    let text = member.value?.kind == .file ? try file.resolved(text) : text
                    try member.value?.check(text)
                    values.append((member, text))
                }
            } catch {
                throw CommandFailure(.failed, "\(title): \(memberName) \(error.message)")
            }
        }
        self.values = values
    }

    /// Returns the command-line values for a JSON value, or none for a flag that is `false`.
    private static func texts(of value: JSONValue, for member: OptionDefinition) throws(ValueError) -> [String] {
        guard member.value != nil else {
            switch value {
            case true: return [""]
            case false: return []
            default: throw ValueError(message: "must be true or false")
            }
        }
        switch value {
        case .string(let text): return [text]
        case .number(let number): return [number.literal]
        case .array(let list) where member.isRepeatable:
            let texts = list.compactMap(\.string)
            guard texts.count == list.count else { throw ValueError(message: "must be an array of strings") }
            return texts
        default:
            throw ValueError(
                message: member.isRepeatable ? "must be a string or an array of strings" : "must be a string"
            )
        }
    }

    private static func unknown(_ name: String, _ members: [OptionDefinition]) -> String {
        let names = members.map(\.longName)
        // The user may have entered the secret itself.
        let places = ["\(name)-file", "\(name)-env"].filter(names.contains)
        guard places.isEmpty else {
            return
                "unknown member \(name); secrets don't belong in the configuration: use \(places.joined(separator: " or "))"
        }
        let advice =
            Suggestion.nearest(to: name, in: names).map { ", did you mean \($0)?" }
            ?? "; members: " + names.joined(separator: ", ")
        return "unknown member \(name)" + advice
    }
}
