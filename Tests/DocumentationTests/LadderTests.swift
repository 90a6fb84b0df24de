import Foundation
import Testing

/// That modules depend on each other as Docs/Architecture.md says, and in no other way.
@Suite("The ladder of modules")
struct LadderTests {
    /// What is below, in the order of the page: the targets in Sources.
    private static let page: [String] = {
        let rows = (Repository.text("Docs/Architecture.md") ?? "").split(separator: "\n")
        let table = rows.drop { !$0.hasPrefix("| target |") }.dropFirst(2).prefix { $0.hasPrefix("|") }
        return table.flatMap { row in
            row.split(separator: "|")[0].matches(of: /`(\w+)`/).map { String($0.1) }
        }
    }()

    /// The targets of Package.swift that have their sources in Sources, and what each depends on.
    private static let manifest: [(name: String, dependencies: [String])] = {
        let text = Repository.text("Package.swift") ?? ""
        let declaration =
            /\.(?:systemLibrary|target|executableTarget)\(\s*name: "(\w+)"(?:,\s*dependencies: \[([^\]]*)\])?/
        return text.matches(of: declaration).compactMap { match in
            guard Repository.exists("Sources/\(match.1)") else { return nil }
            return (String(match.1), (match.2 ?? "").matches(of: /"(\w+)"/).map { String($0.1) })
        }
    }()

    /// What comes with the toolchain.
    private static let toolchain: Set = [
        "Foundation", "FoundationEssentials", "FoundationNetworking", "Dispatch", "Glibc", "Synchronization",
    ]

    @Test("The page has each target once, in the order of the manifest")
    func order() throws {
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Repository.top.appending(path: "Sources").path
        )
        #expect(Self.page.sorted() == folders.sorted())
        #expect(Self.manifest.map(\.name).sorted() == folders.sorted())
    }

    @Test("No target depends on what stands below it on the page")
    func upwards() {
        for (name, dependencies) in Self.manifest {
            let own = Self.page.firstIndex(of: name) ?? 0
            for dependency in dependencies {
                let place = Self.page.firstIndex(of: dependency) ?? Self.page.endIndex
                #expect(place < own, "\(name) depends on \(dependency)")
            }
        }
    }

    @Test("A target imports only what it depends on, and what the toolchain has")
    func imports() {
        for (name, dependencies) in Self.manifest {
            let allowed = Self.toolchain.union(dependencies)
            // A catalog of DocC has code of users.
            for path in Repository.paths(in: "Sources/\(name)")
            where path.hasSuffix(".swift") && !path.contains(".docc/") {
                // Imports begin a line; octets, because the sources are long.
                for line in (Repository.text(path) ?? "").utf8.split(separator: UInt8(ascii: "\n")) {
                    guard line.first == UInt8(ascii: "i") || line.first == UInt8(ascii: "p"),
                        let match = Substring(line).wholeMatch(of: /(?:(?:public|package|internal) )?import (\w+)/)
                    else { continue }
                    #expect(allowed.contains(String(match.1)), "\(path) imports \(match.1)")
                }
            }
        }
    }

    @Test("There is no dependency on another package")
    func packages() throws {
        let manifest = try #require(Repository.text("Package.swift"))
        #expect(!manifest.contains(".package("))
    }
}
