import Foundation

/// A folder that the user specifies.
struct FolderPath: ArgumentValue, Equatable {
    static var valueKind: OptionDefinition.ValueKind { .file }

    let path: String

    init(argument: String) throws(ValueError) {
        guard !argument.isEmpty, argument != "-" else { throw ValueError(message: "must name a folder") }
        path = argument
    }

    /// The absolute URL of the folder, which doesn't depend on later changes of the working
    /// directory.
    var url: URL { URL(filePath: path, directoryHint: .isDirectory).absoluteURL.standardizedFileURL }
}
