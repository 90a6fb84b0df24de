#if !OpenAPI
    import Foundation
    import HTTPTypes
    import OAuth2
    import OAuth2HTTPTypes

    // The parts of swift-openapi-runtime that the table uses, so that it runs without that package.
    // With the trait `OpenAPI`, it runs with the package's types and with OAuth2OpenAPI.

    enum IterationBehavior { case single, multiple }

    struct StreamedBody: AsyncSequence, Sendable {
        enum Length { case unknown }
        private enum Source: Sendable {
            case data(Data)
            case parts(Parts)
        }

        private let source: Source
        let iterationBehavior: IterationBehavior

        init(_ data: Data) { (source, iterationBehavior) = (.data(data), .multiple) }

        init(_ parts: Parts, length: Length, iterationBehavior: IterationBehavior) {
            (source, self.iterationBehavior) = (.parts(parts), iterationBehavior)
        }

        struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var data: Data?
            fileprivate var parts: Parts.AsyncIterator?

            mutating func next() async throws -> ArraySlice<UInt8>? {
                if let data = data.take() { return ArraySlice(data) }
                return try await parts?.next()
            }
        }

        func makeAsyncIterator() -> AsyncIterator {
            switch source {
            case .data(let data): AsyncIterator(data: data, parts: nil)
            case .parts(let parts): AsyncIterator(data: nil, parts: parts.makeAsyncIterator())
            }
        }
    }

    extension OAuth2Authenticator {
        func intercept(
            _ request: HTTPRequest,
            body: StreamedBody?,
            baseURL: URL,
            operationID: String,
            next: @Sendable (HTTPRequest, StreamedBody?, URL) async throws -> (HTTPResponse, StreamedBody?)
        ) async throws -> (HTTPResponse, StreamedBody?) {
            let isRepeatable = body?.iterationBehavior != .single
            return try await intercept(request, baseURL: baseURL, isRepeatable: isRepeatable) { request in
                try await next(request, body, baseURL)
            }
        }
    }
#endif
