// error: Declare 'var options: [EndpointOption]'.
import Foundation
import HTTPTypes
import Networking

struct SignIn: Endpoint {
    typealias Response = Void
    let name: String

    var path: RequestPath { "login" }
    var options: EndpointOption { .set(\.isThrottled, false) }
}
