/// An endpoint with a model type, so that `client.fetch(endpoint)` returns the model.
///
/// ```swift
/// struct GetBook: ModelEndpoint {
///     typealias Model = Book
///     let id: Int
///     var baseURL: URL { libraryURL }
///     var path: URLPath { "/books/\(id)" }
/// }
/// let book = try await client.fetch(GetBook(id: 42))
/// ```
public protocol ModelEndpoint: HTTPEndpoint {
    /// The model that a response decodes to.
    associatedtype Model
    /// The decoding of the response; the default is JSON if the model is `Decodable`.
    var decoding: ModelDecoding<Model> { get }
}

extension ModelEndpoint where Model: Decodable & SendableMetatype {
    /// Decodes JSON.
    public var decoding: ModelDecoding<Model> { .json() }
}

extension ModelEndpoint where Model == Void {
    /// Ignores the body.
    public var decoding: ModelDecoding<Void> { .void }
}
