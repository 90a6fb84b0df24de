// A double of Vapor 4.122 with the declarations that samples use. `.ci/samples` compiles them, and
// never runs it. Names and types are those of https://github.com/vapor/vapor/tree/4.122.0.

@_exported public import Foundation
@_exported public import Logging
@_exported public import struct NIOCore.ByteBuffer
@_exported public import class NIOCore.EventLoopFuture
@_exported public import struct NIOHTTP1.HTTPHeaders
@_exported public import enum NIOHTTP1.HTTPMethod
@_exported public import enum NIOHTTP1.HTTPResponseStatus

private func given<Value>() -> Value { fatalError("A double isn't run.") }

// MARK: Messages

public final class Request: Sendable {
    public var method: HTTPMethod { given() }
    public var url: URI { given() }
    public var headers: HTTPHeaders { given() }
    public var body: Body { given() }
    public var logger: Logger { given() }
    public var storage: Storage {
        get { given() }
        set {}
    }

    public struct Body: AsyncSequence, Sendable {
        public struct AsyncIterator: AsyncIteratorProtocol {
            public mutating func next() async throws -> ByteBuffer? { nil }
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
    }
}

public struct URI: Sendable {
    public var path: String { given() }
    public var string: String { given() }
}

public struct Storage: Sendable {
    public subscript<Key: StorageKey>(_ key: Key.Type) -> Key.Value? {
        get { given() }
        set {}
    }
}

public protocol StorageKey {
    associatedtype Value: Sendable
}

public final class Response: Sendable {
    public var headers: HTTPHeaders {
        get { given() }
        set {}
    }

    public convenience init(
        status: HTTPResponseStatus = .ok,
        version: HTTPVersion = .init(major: 1, minor: 1),
        headers: HTTPHeaders = .init(),
        body: Body = .empty
    ) {
        self.init()
    }

    private init() {}

    public struct Body: Sendable {
        public static let empty = Body(string: "")

        public init(string: String) {}
    }
}

public struct HTTPVersion: Sendable {
    public init(major: Int, minor: Int) {}
}

extension HTTPHeaders {
    public struct Name: Sendable {
        public static let cacheControl = Name()
    }

    public mutating func replaceOrAdd(name: Name, value: String) {}
}

public struct Abort: Error {
    public init(_ status: HTTPResponseStatus, headers: HTTPHeaders = [:], reason: String? = nil) {}
}

// MARK: Middlewares

@preconcurrency
public protocol Responder: Sendable {
    func respond(to request: Request) -> EventLoopFuture<Response>
}

public protocol AsyncResponder: Responder {
    func respond(to request: Request) async throws -> Response
}

@preconcurrency
public protocol Middleware: Sendable {
    func respond(to request: Request, chainingTo next: any Responder) -> EventLoopFuture<Response>
}

public protocol AsyncMiddleware: Middleware {
    func respond(to request: Request, chainingTo next: any AsyncResponder) async throws -> Response
}

extension AsyncMiddleware {
    public func respond(to request: Request, chainingTo next: any Responder) -> EventLoopFuture<Response> { given() }
}

public struct Middlewares: Sendable {
    public enum Position {
        case beginning
        case end
    }

    public mutating func use(_ middleware: any Middleware, at position: Position = .end) {}
}

// MARK: Routes

public protocol ResponseEncodable {}
public protocol AsyncResponseEncodable {}

extension String: ResponseEncodable, AsyncResponseEncodable {}
extension Response: ResponseEncodable, AsyncResponseEncodable {}
extension HTTPResponseStatus: ResponseEncodable, AsyncResponseEncodable {}

public enum PathComponent: ExpressibleByStringLiteral, Sendable {
    case constant(String)

    public init(stringLiteral value: String) { self = .constant(value) }
}

public final class Route: Sendable {}

public protocol RoutesBuilder {
    func add(_ route: Route)
}

extension RoutesBuilder {
    public func grouped(_ middleware: any Middleware...) -> any RoutesBuilder { given() }

    @discardableResult
    public func get<Response: ResponseEncodable>(
        _ path: PathComponent...,
        use closure: @Sendable @escaping (Request) throws -> Response
    ) -> Route {
        given()
    }

    @discardableResult
    public func get<Response: AsyncResponseEncodable>(
        _ path: PathComponent...,
        use closure: @Sendable @escaping (Request) async throws -> Response
    ) -> Route {
        given()
    }

    @discardableResult
    public func post<Response: ResponseEncodable>(
        _ path: PathComponent...,
        use closure: @Sendable @escaping (Request) throws -> Response
    ) -> Route {
        given()
    }

    @discardableResult
    public func post<Response: AsyncResponseEncodable>(
        _ path: PathComponent...,
        use closure: @Sendable @escaping (Request) async throws -> Response
    ) -> Route {
        given()
    }
}

public final class Application: RoutesBuilder, Sendable {
    public var middleware: Middlewares {
        get { given() }
        set {}
    }

    public func add(_ route: Route) {}
}
