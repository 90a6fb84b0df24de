import Foundation

/// An nginx on loopback that responds to every request with a small JSON body, without a log.
struct BenchmarkServer {
    let plain: URL
    let secure: URL
    /// The PEM file with the server's self-signed certificate.
    let certificate: URL
    private let process: Process
    private let folder: URL

    /// Starts the server in a temporary folder.
    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "bench-http-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        certificate = folder.appending(path: "server.pem")
        let ports = try Self.freePorts(2)
        plain = try Self.url("http://127.0.0.1:\(ports[0])/status")
        secure = try Self.url("https://127.0.0.1:\(ports[1])/status")
        try Self.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:TRUE",
                "-keyout", folder.appending(path: "key.pem").path, "-out", certificate.path,
            ]
        )
        let configuration = folder.appending(path: "nginx.conf")
        try Self.configuration(folder: folder.path, ports: ports).write(
            to: configuration,
            atomically: true,
            encoding: .utf8
        )
        process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["nginx", "-e", folder.appending(path: "error.log").path, "-c", configuration.path]
        try process.run()
        try Self.waitForPorts(ports, of: process, log: folder.appending(path: "error.log"))
    }

    /// Parses a URL.
    static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text) else { throw UsageError(text: "bench: \(text) isn't a URL.") }
        return url
    }

    /// Stops the server and removes its folder.
    func stop() {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }

    private static func configuration(folder: String, ports: [Int]) -> String {
        """
        daemon off;
        \(getuid() == 0 ? "user root;" : "")
        worker_processes 1;
        pid \(folder)/nginx.pid;
        error_log \(folder)/error.log warn;
        events { worker_connections 2048; }
        http {
            access_log off;
            client_body_temp_path \(folder)/client-body;
            proxy_temp_path \(folder)/proxy;
            fastcgi_temp_path \(folder)/fastcgi;
            uwsgi_temp_path \(folder)/uwsgi;
            scgi_temp_path \(folder)/scgi;
            default_type application/json;
            keepalive_requests 1000000000;
            keepalive_timeout 3600s;
            ssl_certificate \(folder)/server.pem;
            ssl_certificate_key \(folder)/key.pem;
            server {
                listen 127.0.0.1:\(ports[0]);
                listen 127.0.0.1:\(ports[1]) ssl;
                location = /status {
                    return 200 '{"status":"ok","service":"reports","region":"eu-west-2","version":"2026.11.1"}';
                }
            }
        }
        """
    }

    private static func run(_ name: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [name] + arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw UsageError(text: "bench: \(name) failed. Install it with “apt-get install openssl nginx”.")
        }
    }

    private static func waitForPorts(_ ports: [Int], of process: Process, log: URL) throws {
        for _ in 0..<200 {
            if ports.allSatisfy({ withSocket(port: $0) { connect($0, $1, $2) == 0 } }) { return }
            guard process.isRunning else { break }
            usleep(20_000)
        }
        process.terminate()
        let words = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        throw UsageError(text: "bench: nginx didn't start. Install it with “apt-get install nginx-light”. \(words)")
    }

    private static func freePorts(_ count: Int) throws -> [Int] {
        // All sockets stay open until all ports are known, so the ports differ.
        let sockets = (0..<count).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        defer { for socket in sockets { close(socket) } }
        return try sockets.map { socket in
            var address = loopback(port: 0)
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, size) == 0 && getsockname(socket, $0, &size) == 0
                }
            }
            guard isBound else { throw UsageError(text: "bench: No free port.") }
            return Int(in_port_t(bigEndian: address.sin_port))
        }
    }

    private static func withSocket(
        port: Int,
        _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Bool
    ) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = loopback(port: port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func loopback(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr = in_addr(s_addr: in_addr_t(0x7F00_0001).bigEndian)
        return address
    }
}
