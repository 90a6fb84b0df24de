import CFloor
import Foundation

/// The figures of one case, in microseconds of CPU time per operation.
struct Comparison {
    let name: String
    let ours: Double
    let peer: Double?
    let floor: Double
    let oursMallocs: Double
    let peerMallocs: Double?

    /// jwt-kit's time divided by ours.
    var fasterThanPeer: Double? { peer.map { $0 / ours } }
    /// Our time divided by that of OpenSSL alone.
    var timesFloor: Double { ours / floor }
}

/// A table, or one JSON object per line.
struct Report {
    let isJSON: Bool

    func begin() {
        guard !isJSON else { return }
        print("µs of CPU time per operation; OpenSSL: \(String(cString: floor_version()))")
        print(row("case", ["ours", "jwt-kit", "OpenSSL", "× faster", "× OpenSSL", "mallocs", "jwt-kit's"]))
    }

    func add(_ comparison: Comparison) {
        if isJSON {
            print(
                """
                {"suite":"tokens","case":"\(comparison.name)","ours_us":\(number(comparison.ours)),\
                "peer_us":\(number(comparison.peer)),"floor_us":\(number(comparison.floor)),\
                "vs_peer":\(number(comparison.fasterThanPeer)),"vs_floor":\(number(comparison.timesFloor)),\
                "ours_mallocs":\(number(comparison.oursMallocs)),"peer_mallocs":\(number(comparison.peerMallocs))}
                """
            )
        } else {
            let cells = [
                cell(comparison.ours, 2), cell(comparison.peer, 2), cell(comparison.floor, 2),
                cell(comparison.fasterThanPeer, 2), cell(comparison.timesFloor, 3),
                cell(comparison.oursMallocs, 0), cell(comparison.peerMallocs, 0),
            ]
            print(row(comparison.name, cells))
        }
        // Shows each case when it's complete.
        fflush(nil)
    }

    private func row(_ name: String, _ cells: [String]) -> String {
        let padded = cells.map { String(repeating: " ", count: max(0, 10 - $0.count)) + $0 }
        return name + String(repeating: " ", count: max(0, 30 - name.count)) + padded.joined()
    }

    private func cell(_ value: Double?, _ digits: Int) -> String {
        value.map { String(format: "%.\(digits)f", $0) } ?? "–"
    }

    private func number(_ value: Double?) -> String {
        value.map { String(format: "%.3f", $0) } ?? "null"
    }
}
