public import Foundation

/// The files in `Vectors/`: values from RFCs that all test targets share.
public enum Vector {
    /// The folder of the files.
    public static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Vectors", directoryHint: .isDirectory)

    /// Reads a vector file as any JSON value.
    public static func json(_ name: String) throws -> Any {
        try JSONSerialization.jsonObject(with: data(name))
    }

    /// Reads a vector file as a JSON object.
    public static func object(_ name: String) throws -> [String: Any] {
        guard let object = try json(name) as? [String: Any] else {
            throw CocoaError(.fileReadCorruptFile, userInfo: [NSFilePathErrorKey: name])
        }
        return object
    }

    /// Reads a vector file as a model.
    public static func decode<Model: Decodable>(_ name: String, as type: Model.Type = Model.self) throws -> Model {
        try JSONDecoder().decode(type, from: data(name))
    }

    /// Reads a vector file's bytes.
    public static func data(_ name: String) throws -> Data {
        try Data(contentsOf: folder.appending(path: name + ".json"))
    }
}
