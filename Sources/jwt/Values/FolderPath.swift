import Foundation

/// A folder the user named.
struct FolderPath: ArgumentValue, Equatable {
    static var valueKind: OptionDefinition.ValueKind { .file }

    let path: String

    init(argument: String) throws(ValueError) {
        guard !argument.isEmpty, argument != "-" else { throw ValueError(message: "must name a folder") }
        path = argument
    }

    /// The folder, also after the working directory has changed.
    var url: URL { URL(filePath: path, directoryHint: .isDirectory).absoluteURL.standardizedFileURL }
}
