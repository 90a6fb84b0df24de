import Foundation
import TestSupport
import Testing

/// Compares the dependencies of modules with the ladder in Docs/Architecture.md.
@Suite("Module ladder", .computing)
struct LadderTests {
    /// The targets in Sources, in the order of the page.
    private static let page: [String] = {
        let rows = (Repository.text("Docs/Architecture.md") ?? "").split(separator: "\n")
        let table = rows.drop { !$0.hasPrefix("| target |") }.dropFirst(2).prefix { $0.hasPrefix("|") }
        return table.flatMap { row in
            row.split(separator: "|")[0].matches(of: /`(\w+)`/).map { String($0.1) }
        }
    }()

    /// The targets of Package.swift with a folder in Sources, and their dependencies.
    private static let manifest: [(name: String, dependencies: [String])] = {
        let text = Repository.text("Package.swift") ?? ""
        let declaration =
            /\.(?:systemLibrary|target|executableTarget)\(\s*name: "(\w+)"(?:,\s*dependencies: \[([^\]]*)\])?/
        return text.matches(of: declaration).compactMap { match in
            guard Repository.exists("Sources/\(match.1)") else { return nil }
            return (String(match.1), (match.2 ?? "").matches(of: /"(\w+)"/).map { String($0.1) })
        }
    }()

    /// The modules of the toolchain.
    private static let toolchain: Set = [
        "Foundation", "FoundationEssentials", "FoundationNetworking", "Dispatch", "Glibc", "Synchronization",
    ]

    @Test("Lists each target once, on the page and in the manifest")
    func order() throws {
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Repository.top.appending(path: "Sources").path
        )
        #expect(Self.page.sorted() == folders.sorted())
        #expect(Self.manifest.map(\.name).sorted() == folders.sorted())
    }

    @Test("Targets depend only on targets above them on the page")
    func upwards() {
        for (name, dependencies) in Self.manifest {
            let own = Self.page.firstIndex(of: name) ?? 0
            for dependency in dependencies {
                let place = Self.page.firstIndex(of: dependency) ?? Self.page.endIndex
                #expect(place < own, "\(name) depends on \(dependency)")
            }
        }
    }

    @Test("A target imports only its dependencies and the toolchain's modules")
    func imports() {
        for (name, dependencies) in Self.manifest {
            let allowed = Self.toolchain.union(dependencies)
            // DocC catalogs contain code for users.
            for path in Repository.paths(in: "Sources/\(name)")
            where path.hasSuffix(".swift") && !path.contains(".docc/") {
                // Imports start a line. Bytes are faster than characters here.
                for line in (Repository.text(path) ?? "").utf8.split(separator: UInt8(ascii: "\n")) {
                    guard line.first == UInt8(ascii: "i") || line.first == UInt8(ascii: "p"),
                        let match = Substring(line).wholeMatch(of: /(?:(?:public|package|internal) )?import (\w+)/)
                    else { continue }
                    #expect(allowed.contains(String(match.1)), "\(path) imports \(match.1)")
                }
            }
        }
    }

    @Test("The package has no package dependencies")
    func packages() throws {
        let manifest = try #require(Repository.text("Package.swift"))
        #expect(!manifest.contains(".package("))
    }
}
