import Foundation
import TestSupport
import Testing

@testable import jwt

/// The Debian package, without its program, in a system of its own: apt and dpkg have their records
/// and files in the test's folder.
@Suite("The Debian package", .limitedConcurrency)
struct PackageTests {
    private static let tools = ["/usr/bin/apt-get", "/usr/bin/dpkg-deb", "/usr/bin/dpkg"]

    private static let control = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../.ci/package/control").standardizedFileURL.path

    /// Defines `package CONTROL FILE`, which adds a package with `/usr/bin/jwt` to the archive, and
    /// `apt`, with the archive as its only source.
    private static let setup = """
        set -e
        mkdir -p archive root/var/lib/dpkg/info root/var/lib/dpkg/updates apt/state/lists/partial apt/cache/archives/partial
        : > root/var/lib/dpkg/status; : > root/var/lib/dpkg/available
        package() {
          rm -rf tree; mkdir -p tree/DEBIAN tree/usr/bin; cp "$1" tree/DEBIAN/control; echo "$2" > tree/usr/bin/jwt
          dpkg-deb --root-owner-group --build tree "archive/$2.deb" > /dev/null
          { cat "$1"; echo "Filename: ./$2.deb"; echo "Size: $(stat -c %s "archive/$2.deb")"
            echo "SHA256: $(sha256sum "archive/$2.deb" | cut -d ' ' -f 1)"; echo; } >> archive/Packages
        }
        control() { printf 'Package: %s\\nVersion: %s\\nArchitecture: all\\nMaintainer: M <m@example>\\nDescription: %s\\n' "$@"; }
        control jwt 0.1.0 ours > old; control jwt 4.4.3-1 Debian > theirs
        { sed -n '/^Package:/,$p' "$CONTROL" | sed 's/^Architecture: .*/Architecture: all/; /^Depends:/d; /^Recommends:/d'
          echo 'Version: 0.2.0'; echo 'Maintainer: M <m@example>'; } > new
        apt() {
          apt-get -q -y -o Dir="$PWD/apt" -o Dir::Etc::sourcelist="$PWD/sources" -o Dir::Etc::sourceparts=- \\
            -o Dir::State="$PWD/apt/state" -o Dir::Cache="$PWD/apt/cache" \\
            -o Dir::State::status="$PWD/root/var/lib/dpkg/status" -o Dir::Log="$PWD/apt" -o APT::Sandbox::User= \\
            -o Dir::Bin::dpkg=/usr/bin/dpkg -o DPkg::Options::=--root="$PWD/root" -o DPkg::Options::=--force-not-root \\
            -o DPkg::Options::=--force-script-chrootless -o DPkg::Options::=--log=/dev/null -o Debug::NoLocking=1 "$@"
        }
        echo 'Dir::Etc::main "/dev/null"; Dir::Etc::parts "/dev/null";' > conf; export APT_CONFIG="$PWD/conf"
        echo "deb [trusted=yes] copy:$PWD/archive ./" > sources
        installed() { dpkg-query --admindir=root/var/lib/dpkg -W -f '${Package} ${Version} ${db:Status-Status}\\n' | grep installed; cat root/usr/bin/jwt; }

        """

    private func run(_ script: String) throws -> ProcessResult {
        let folder = try TemporaryFolder()
        return try BuiltProgram.shell(
            "(\(Self.setup)\(script)) > log 2>&1 && cat result || { cat log; exit 1; }",
            environment: ["CONTROL": Self.control, "PATH": "/usr/sbin:/sbin:/usr/bin:/bin"],
            in: folder
        )
    }

    @Test(
        "Isn't replaced by Debian's package jwt in an upgrade",
        .enabled(if: tools.allSatisfy { FileManager.default.isExecutableFile(atPath: $0) })
    )
    func upgrade() throws {
        let result = try run(
            """
            package new ours; apt update; apt install ./archive/ours.deb
            package theirs theirs; apt update; apt upgrade; apt full-upgrade
            installed > result
            """
        )
        #expect(result == .success("\(Self.name) 0.2.0 installed\nours\n"), "\(result)")
    }

    @Test(
        "Replaces an earlier package with the name jwt, and Debian's",
        .enabled(if: tools.allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }),
        arguments: ["old", "theirs"]
    )
    func replacement(other: String) throws {
        let result = try run(
            """
            package \(other) \(other); apt update; apt install jwt; installed | grep '^\(other)$'
            package new ours; apt install ./archive/ours.deb
            installed > result
            """
        )
        #expect(result == .success("\(Self.name) 0.2.0 installed\nours\n"), "\(result)")
    }

    private static let name = "jwt-command"
}
