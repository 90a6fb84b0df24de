/// An endpoint that knows what it answers with, so that `client.request(endpoint)` is the model.
///
/// ```swift
/// struct GetBook: ModelEndpoint {
///     typealias Model = Book
///     let id: Int
///     var baseURL: URL { libraryURL }
///     var path: URLPath { "/books/\(id)" }
/// }
/// let book = try await client.request(GetBook(id: 42))
/// ```
public protocol ModelEndpoint: HTTPEndpoint {
    /// What a response becomes.
    associatedtype Model
    /// How a response becomes a model; JSON by default where the model is `Decodable`.
    var decoding: ModelDecoding<Model> { get }
}

extension ModelEndpoint where Model: Decodable & SendableMetatype {
    /// Decodes JSON.
    public var decoding: ModelDecoding<Model> { .json() }
}

extension ModelEndpoint where Model == Void {
    /// Doesn't look at the body.
    public var decoding: ModelDecoding<Void> { .void }
}
