#!/usr/bin/env bash
# Refuses the phrases of tools/banned_phrases.txt in what users and readers of the code see: string
# literals and doc comments (///) of the sources, strings of configs, Markdown and scripts' comments.
# tools/check_language.sh [ROOT]; exit code 1 if there are any.
set -euo pipefail
phrases=$(realpath "$(dirname "${BASH_SOURCE[0]}")")/banned_phrases.txt
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"

list_files() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z --deduplicate --cached --others --exclude-standard
  else
    find . -type f -print0 | sed -z 's|^\./||'
  fi
}

program=$(cat <<'PERL'
use strict;
use warnings;

my @rules;
open my $list, '<', shift @ARGV or die;
while (<$list>) {
  chomp;
  next if /^(#|$)/;
  my ($phrase, $instead) = split / => /, $_, 2;
  $phrase =~ s/ /\\s+/g;
  push @rules, [qr/\b(?:$phrase)\b/i, $instead];
}
die "no phrases\n" unless @rules;

# What is not text becomes blanks of the same length, so that offsets keep their lines. Neighboring
# literals and lines of one comment are one text.
sub blank { my ($text) = @_; $text =~ s/[^\n]/ /g; return $text }
sub cpp_text {
  my ($code) = @_;
  my ($out, $last) = ('', '');
  while ($code =~ m{\G(?:(///[^\n]*)|(//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)'|\#include[^\n]*)|(R"(\w*)\(.*?\)\g4"|"(?:[^"\\\n]|\\.)*")|(\s+)|(.))}gs) {
    my ($doc, $skip, $literal, $space, $other) = ($1, $2, $3, $5, $6);
    if (defined $doc) { $out .= '   ' . substr($doc, 3) }
    elsif (defined $literal) {
      my $text = $literal =~ /^"/ ? substr($literal, 1, -1) : substr($literal, 2);
      $text =~ s/\\n/\x01\x01/g;
      $out .= ($last eq 'literal' ? ($literal =~ /^"/ ? "\x02" : '  ') : "\x01") . $text . ($literal =~ /^"/ ? "\x02" : '');
      $last = 'literal';
      next;
    }
    elsif (defined $space) { $out .= $last eq 'literal' ? $space =~ s/[^\n]/\x02/gr =~ s/\n/\x03/gr : $space; next }
    elsif (defined $skip) { $out .= blank($skip) }
    else { $out .= "\x01"; $last = 'other'; next }
    $last = 'comment';
  }
  return $out;
}

my $bad = 0;
for my $file (@ARGV) {
  open my $in, '<', $file or die "$file: $!\n";
  local $/;
  my $text = <$in>;
  if ($file =~ /\.(cpp|hpp|cu|cuh|in)$/) { $text = cpp_text($text) }
  # Literals that continue one another: their quotes and line breaks vanish, lines are counted apart.
  my (@line, $flat, $number) = ();
  ($flat, $number) = ('', 1);
  for my $c (split //, $text) {
    if ($c eq "\x02") { next }
    if ($c eq "\x03") { ++$number; next }
    $flat .= $c;
    push @line, $number;
    ++$number if $c eq "\n";
  }
  for my $rule (@rules) {
    while ($flat =~ /$rule->[0]/g) {
      my ($what, $place) = ($&, $line[$-[0]]);
      my ($before, $after) = (substr($flat, $-[0] - 1, 1), substr($flat, $+[0], 1));
      next if $before =~ /[`"\x01]/ && $after =~ /[`"\x01]/;  # an identifier
      $what =~ s/\s+/ /g;
      print "$file:$place: error: \"$what\": write instead: $rule->[1]\n";
      $bad = 1;
    }
  }
}
exit $bad;
PERL
)

list_files | grep -zE '^(sim|topologies|strategies|tools)/.*\.(cpp|hpp|cu|cuh|in)$|^configs/.*\.json$|\.md$|^CITATION\.cff$' |
  sort -z | xargs -0 -r perl -e "$program" "$phrases"
