import Foundation

/// The target that the check selects.
private let target: FuzzTarget = {
    guard let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"], let target = FuzzTarget.named(name) else {
        print("FUZZ_TARGET must be one of \(FuzzTarget.all.map(\.name).joined(separator: ", "))")
        exit(2)
    }
    return target
}()

/// Parses one input, and ends the process if a property does not hold.
///
/// - Parameters:
///   - bytes: The input.
///   - count: The number of its bytes.
/// - Returns: Zero, as libFuzzer requires.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        try target.check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    } catch {
        // Not with print, because the buffer of the output would be lost.
        FileHandle.standardError.write(Data("PROPERTY: \(error)\n".utf8))
        abort()
    }
    return 0
}
