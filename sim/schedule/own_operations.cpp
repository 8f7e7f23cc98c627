#include "sim/schedule/own_operations.hpp"

namespace lockstep {

Stream with_own_operations(const Stream& stream) {
  Stream out{stream.endpoint, stream.name, stream.all()};
  for (Activity& each : out.operations) {
    if (each.kind == Activity::Kind::collective) {
      const CallMemberSlot slot = stream.member_slot(each);
      each.call = slot.call;
      each.member = slot.member;
    } else if (each.kind != Activity::Kind::compute) {
      const Correspondent end = stream.end(each);
      each.peer = end.peer;
      each.tag = end.tag;
    }
    for (ActivityRef& ref : each.after) ref = stream.named(ref);
    if (each.launched_after) each.launched_after = stream.named(*each.launched_after);
  }
  return out;
}

}  // namespace lockstep
